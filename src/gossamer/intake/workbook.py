"""Lists in Excel workbooks: the text of the first sheet's cells, row by row, with limits on what unpacking may cost.

The first sheet is the first that is shown. Cells that show an error, and formulas whose result the file does not have,
are marked as such, so that none is passed over.
"""

import io
import re
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import IO, Any
from xml.etree.ElementTree import ParseError

from openpyxl import load_workbook
from openpyxl.utils import column_index_from_string
from openpyxl.utils.exceptions import InvalidFileException

from gossamer.errors import UserError
from gossamer.intake.textfile import Unusable, name_of

MAX_PACKED = 10 * 1024 * 1024
MAX_UNPACKED = 100 * 1024 * 1024
MAX_PARTS = 10_000
MAX_COLUMNS = 200  # of a row; a list of domains stands in one of the first
MAX_TEXT = 100 * 1024 * 1024  # characters in cells: many cells may share one long text

_PIECE = 1024 * 1024
_ERROR = re.compile(r"#(?:N/A|DIV/0!|[A-Z_]+[!?])")
# A cell with a formula and without a value; texts that are empty say that they are texts.
_UNCOMPUTED = re.compile(
    rb"<(?:\w{1,9}:)?c\b(?![^<>]{0,200}\bt=.str.)[^<>]{0,200}\br=.([A-Z]{1,3})(\d{1,7})[^<>]{0,200}>\s{0,9}"
    rb"<(?:\w{1,9}:)?f\b[^<>]{0,200}(?:/>|>[^<]*</(?:\w{1,9}:)?f>)\s{0,9}"
    rb"(?:<(?:\w{1,9}:)?v\s?(?:/>|></(?:\w{1,9}:)?v>)\s{0,9})?</(?:\w{1,9}:)?c>"
)
_LONGEST_CELL = 40_000  # bytes of one with a formula

# What the library raises for files that are damaged or only pretend to be workbooks.
_DAMAGED = (
    InvalidFileException, zipfile.BadZipFile, zlib.error, ParseError, KeyError, ValueError, IndexError, TypeError,
    AttributeError, EOFError, NotImplementedError, RuntimeError, OSError,
)  # fmt: skip


def read_rows(raw: bytes, path: Path, subject: str) -> list[list[str]]:
    """The first sheet's rows as text. What cannot be read, or is too large unpacked, is a `UserError`."""
    name = name_of(path)
    if raw.startswith(b"\xd0\xcf\x11\xe0"):
        raise _encrypted(name, subject)
    if len(raw) > MAX_PACKED:
        raise _too_large(name, subject, f"is a workbook of more than {_megabytes(MAX_PACKED)}")
    try:
        _check_unpacked(raw, name, subject)
        return list(_first_sheet(raw, name, subject))
    except UserError:
        raise
    except _DAMAGED as error:
        message = f"{name} is a workbook that cannot be read: it is damaged or not complete."
        raise UserError(
            f"{subject}.binary", message, hint="Open it in Excel and save it again, or save it as CSV."
        ) from error


def _check_unpacked(raw: bytes, name: str, subject: str) -> None:
    """Refuse what would unpack to too much. The sizes are what the file says, and no part yields more than it says."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        parts = archive.infolist()
    if any(part.flag_bits & 1 for part in parts):
        raise _encrypted(name, subject)
    if len(parts) > MAX_PARTS:
        raise _too_large(name, subject, f"has more than {MAX_PARTS:,} parts")
    if sum(part.file_size for part in parts) > MAX_UNPACKED:
        raise _too_large(name, subject, f"is larger than {_megabytes(MAX_UNPACKED)} when unpacked")


def _first_sheet(raw: bytes, name: str, subject: str) -> Iterator[list[str]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of extensions that have nothing to do with the cells' text
        book = load_workbook(io.BytesIO(raw), read_only=True, data_only=True)
        try:
            sheets = [one for one in book.worksheets if hasattr(one, "iter_rows")]
            sheet = next((one for one in sheets if one.sheet_state == "visible"), sheets[0] if sheets else None)
            if sheet is None:
                return
            inside = sheet._worksheet_path  # type: ignore[attr-defined] # where its cells are; not said elsewhere
            with zipfile.ZipFile(io.BytesIO(raw)) as archive, archive.open(inside) as part:
                uncomputed = _uncomputed(part)
            sheet.reset_dimensions()  # some programs write a size that is too small
            left = MAX_TEXT
            for number, row in enumerate(sheet.iter_rows(max_col=MAX_COLUMNS, values_only=True), start=1):
                cells = [_text(value) for value in row]
                for column in uncomputed.get(number, ()):
                    cells += [""] * (column + 1 - len(cells))
                    cells[column] = Unusable("(formula)", "is a formula without a result: save the workbook in Excel")
                while cells and not cells[-1]:
                    cells.pop()
                left -= sum(map(len, cells))
                if left < 0:
                    raise _too_large(name, subject, "has more text in its cells than a list can have")
                yield cells
        finally:
            book.close()


def _uncomputed(part: IO[bytes]) -> dict[int, list[int]]:
    """By row, the columns that hold formulas whose results the file does not have. Programs write such files."""
    found: dict[int, list[int]] = {}
    text = b""
    while piece := part.read(_PIECE):
        text = text[-_LONGEST_CELL:] + piece
        if b"<f" not in text and b":f" not in text:
            continue
        for letters, row in _UNCOMPUTED.findall(text):
            column = column_index_from_string(letters.decode()) - 1
            columns = found.setdefault(int(row), [])
            if column < MAX_COLUMNS and column not in columns:
                columns.append(column)
    return found


def _text(value: Any) -> str:
    """A cell as a person sees it. Formulas count as their last result."""
    if value is None:
        return ""
    if isinstance(value, str) and value.startswith("#") and _ERROR.fullmatch(value):
        return Unusable(value, "is an error of the workbook's formula")
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime):
        return value.isoformat(" ")
    return str(value)


def _megabytes(size: int) -> str:
    return f"{size // 1024 // 1024} MB"


def _encrypted(name: str, subject: str) -> UserError:
    return UserError(
        f"{subject}.binary",
        f"{name} is a workbook protected by a password.",
        hint="Save it without a password, or save the list as CSV.",
    )


def _too_large(name: str, subject: str, what: str) -> UserError:
    return UserError(
        f"{subject}.too_large", f"{name} {what}.", hint="Keep only the column that matters, or save the list as CSV."
    )
