"""Files with lists: text files, whatever program saved them, and Excel workbooks; and the lines that were left out.

Of a workbook the first visible sheet is read, with limits on how much unpacking may cost. Cells that show an error,
and formulas whose result the file does not have, are marked as such, so that none is passed over.
"""

import codecs
import csv
import io
import re
import sys
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Self
from xml.etree.ElementTree import ParseError

from gossamer.errors import UserError
from gossamer.model.record import escaped

MAX_BYTES = 100 * 1024 * 1024
STDIN = Path("-")

# Longest first: the mark of UTF-16 is the beginning of the mark of UTF-32.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_OFFICE = (
    (b"xl/", "an Excel file: save it as CSV"),  # where a workbook cannot be read as a list
    (b"opendocument.spreadsheet", "a spreadsheet: save it as CSV"),
    (b"word/", "a Word file: save it as plain text"),
    (b"opendocument.text", "a text document: save it as plain text"),
)
_BINARY = (
    (b"\xd0\xcf\x11\xe0", "an old Excel file: save it as .xlsx or CSV"),
    (b"%PDF-", "a PDF file: copy its lines into a text file"),
    (b"\x1f\x8b", "a compressed file: unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a compressed file: unpack it first"),
)
_WORKBOOKS = (".xlsx", ".xlsm")
# Characters that no text file has; Ctrl-Z is allowed, because old DOS programs append it.
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x19\x1b-\x1f]")


class UnusableCell(str):
    """Text of a cell that cannot be used, with the reason: the end of a sentence that begins with "it"."""

    __slots__ = ("why",)

    def __new__(cls, text: str, why: str) -> Self:
        made = super().__new__(cls, text)
        made.why = why
        return made

    why: str


def read_text(path: Path, subject: str, expected: str) -> str:
    """Read the text of a list. Every failure is a UserError with a code `<subject>.<what>`."""
    return _text(_read_bytes(path, subject, expected), path, subject)


def read_list(path: Path, subject: str, expected: str) -> str | list[list[str]]:
    """Read the text of a list, or the rows of a workbook's first sheet. Errors as in `read_text`."""
    raw = _read_bytes(path, subject, expected)
    if is_workbook(raw):
        return read_rows(raw, path, subject)
    return _text(raw, path, subject)


def is_workbook(raw: bytes) -> bool:
    """Return True if a file is an Excel workbook, encrypted ones included."""
    return (raw.startswith(b"PK\x03\x04") and b"xl/workbook.xml" in raw) or (
        raw.startswith(b"\xd0\xcf\x11\xe0") and "EncryptedPackage".encode("utf-16-le") in raw
    )


def _text(raw: bytes, path: Path, subject: str) -> str:
    # Concatenated files have several byte order marks; DOS programs end a file with Ctrl-Z.
    return _decode(raw, path, subject).replace("\ufeff", "").rstrip("\x1a")


def split_lines(text: str) -> list[str]:
    """Split lines as editors count them; str.splitlines also splits at form feeds and Unicode separators."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def name_of(path: Path) -> str:
    """Return a path in a form that fits a one-line message."""
    return "standard input" if path == STDIN else escaped(str(path))


def quoted(text: str, most: int = 60) -> str:
    """Quote a found text for a message: shortened, and without control characters that could move the cursor."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return f'"{escaped(cut)}"'


def _read_bytes(path: Path, subject: str, expected: str) -> bytes:
    name = name_of(path)
    try:
        if path == STDIN:
            raw = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with path.open("rb") as file:
                raw = file.read(MAX_BYTES + 1)
    except IsADirectoryError:
        hint = f"Give the path of a file in it. {expected}"
        raise UserError(f"{subject}.is_folder", f"{name} is a folder, not a file.", hint=hint) from None
    except PermissionError:
        hint = "Change its permissions or run as a user who may read it."
        raise UserError(f"{subject}.unreadable", f"No permission to read {name}.", hint=hint) from None
    except (FileNotFoundError, NotADirectoryError, ValueError):
        # ValueError: a NUL or another character no file system can hold, so there is certainly no such file.
        hint = f"Check the path. {expected}"
        raise UserError(f"{subject}.not_found", f"No file at {name}.", hint=hint) from None
    except OSError as error:
        message = f"{name} cannot be read ({error.strerror or type(error).__name__})."
        raise UserError(f"{subject}.unreadable", message, hint="Check the path and the disk.") from error
    if len(raw) > MAX_BYTES:
        message = f"{name} is larger than {MAX_BYTES // 1024 // 1024} MB."
        raise UserError(f"{subject}.too_large", message, hint="Keep only the column that matters, or split the file.")
    if not raw:
        raise UserError(f"{subject}.empty", f"{name} is empty.", hint=expected)
    return raw


def _decode(raw: bytes, path: Path, subject: str) -> str:
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            try:
                return raw.decode(encoding)
            except UnicodeDecodeError:
                raise _binary(path, subject, f"is damaged: it begins like {encoding.upper()} text") from None
    is_packed = raw.startswith(b"PK\x03\x04")
    if is_packed and (path.suffix.lower() in _WORKBOOKS or (b"[Content_Types].xml" in raw and b"word/" not in raw)):
        raise _binary(path, subject, "is a workbook that cannot be read: it is damaged or not complete")
    looks_like = _looks_like(raw)
    if looks_like:
        raise _binary(path, subject, f"looks like {looks_like}")
    if b"\x00" in raw:
        raise _binary(path, subject, "is not a text file (it contains NUL bytes)")
    raw = raw.removeprefix(codecs.BOM_UTF8)  # otherwise it becomes three letters if the rest is Latin-1
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        if _CONTROL.search(raw):
            raise _binary(path, subject, "is not a text file") from None
    try:
        return raw.decode("cp1252")  # the Windows superset of Latin-1
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _looks_like(raw: bytes) -> str:
    if raw.startswith(b"PK\x03\x04"):
        return next((said for part, said in _OFFICE if part in raw), "a compressed file: unpack it first")
    return next((said for magic, said in _BINARY if raw.startswith(magic)), "")


def _binary(path: Path, subject: str, what: str) -> UserError:
    return UserError(
        f"{subject}.binary", f"{name_of(path)} {what}.", hint="Expected a text file, CSV or an Excel workbook (.xlsx)."
    )


# As in exports: a spreadsheet would run a cell that begins like this.
_FORMULA = frozenset("=+-@\t\r\n＝＋－＠")


@dataclass(frozen=True, slots=True)
class SkippedLine:
    """An unusable line with its reason, which is the end of a sentence that begins with "it"."""

    line: int
    text: str
    reason: str


def write_skipped(source: Path, subject: str, skipped: Sequence[SkippedLine]) -> Path:
    """Write `<list>-skipped.csv` in the working folder, never over another file."""
    stem = subject if source == STDIN else source.stem
    written = Path(f"{stem}-skipped.csv")
    number = 1
    while True:
        try:
            with written.open("x", encoding="utf-8-sig", newline="") as file:
                rows = csv.writer(file)
                rows.writerow(("line", "text", "reason"))
                rows.writerows((one.line, _safe(one.text), f"it {one.reason}") for one in skipped)
        except FileExistsError:
            number += 1
            written = Path(f"{stem}-skipped-{number}.csv")
        except OSError as error:
            message = f"{name_of(written)} cannot be written ({error.strerror}); it would list the skipped lines."
            raise UserError(
                "skipped.unwritable", message, hint="Run the command in a folder you may write to."
            ) from error
        else:
            return written


def skipped_sentence(skipped: Sequence[SkippedLine], source: Path, written: Path) -> str:
    """`Skipped 3 invalid lines of domains.txt (see domains-skipped.csv)`."""
    lines = f"{len(skipped):,} invalid line{'' if len(skipped) == 1 else 's'}"
    return f"Skipped {lines} of {name_of(source if source == STDIN else Path(source.name))} (see {name_of(written)})"


def _safe(text: str) -> str:
    return f"'{text}" if text[:1] in _FORMULA and text else text


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
    zipfile.BadZipFile, zlib.error, ParseError, KeyError, ValueError, IndexError, TypeError,
    AttributeError, EOFError, NotImplementedError, RuntimeError, OSError,
)  # fmt: skip


def read_rows(raw: bytes, path: Path, subject: str) -> list[list[str]]:
    """Return the first sheet's rows as text. Raises UserError if it cannot be read or is too large."""
    # openpyxl is large, and few lists are workbooks.
    from openpyxl.utils.exceptions import InvalidFileException

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
    except (InvalidFileException, *_DAMAGED) as error:
        message = f"{name} is a workbook that cannot be read: it is damaged or not complete."
        raise UserError(
            f"{subject}.binary", message, hint="Open it in Excel and save it again, or save it as CSV."
        ) from error


def _check_unpacked(raw: bytes, name: str, subject: str) -> None:
    """Refuse a workbook that unpacks to too much, by its declared sizes, which unpacking cannot exceed."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        parts = archive.infolist()
    if any(part.flag_bits & 1 for part in parts):
        raise _encrypted(name, subject)
    if len(parts) > MAX_PARTS:
        raise _too_large(name, subject, f"has more than {MAX_PARTS:,} parts")
    if sum(part.file_size for part in parts) > MAX_UNPACKED:
        raise _too_large(name, subject, f"is larger than {_megabytes(MAX_UNPACKED)} when unpacked")


def _first_sheet(raw: bytes, name: str, subject: str) -> Iterator[list[str]]:
    from openpyxl import load_workbook  # large, and few lists are workbooks

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
                cells = [_cell_text(value) for value in row]
                for column in uncomputed.get(number, ()):
                    cells += [""] * (column + 1 - len(cells))
                    cells[column] = UnusableCell(
                        "(formula)", "is a formula without a result: save the workbook in Excel"
                    )
                while cells and not cells[-1]:
                    cells.pop()
                left -= sum(map(len, cells))
                if left < 0:
                    raise _too_large(name, subject, "has more text in its cells than a list can have")
                yield cells
        finally:
            book.close()


def _uncomputed(part: IO[bytes]) -> dict[int, list[int]]:
    """Return by row the columns with formulas without stored results, as some programs write them."""
    from openpyxl.utils import column_index_from_string  # large, and few lists are workbooks

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


def _cell_text(value: Any) -> str:
    """Return the text of a cell; a formula has its last result."""
    if value is None:
        return ""
    if isinstance(value, str) and value.startswith("#") and _ERROR.fullmatch(value):
        return UnusableCell(value, "is an error of the workbook's formula")
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
