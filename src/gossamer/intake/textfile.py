"""Files with lists: the text of a path a person typed, whatever program saved it, and the lines that were left out."""

import codecs
import csv
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from gossamer.errors import UserError

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
# What no text file holds, apart from Ctrl-Z, with which old DOS programs end theirs.
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x19\x1b-\x1f]")


class Unusable(str):
    """Text of a cell that can be no entry, and why: the end of a sentence that begins with "it"."""

    __slots__ = ("why",)

    def __new__(cls, text: str, why: str) -> Self:
        made = super().__new__(cls, text)
        made.why = why
        return made

    why: str


def read_text(path: Path, subject: str, expected: str) -> str:
    """The whole text of a list. Every way in which that can fail is a `UserError` with the code `<subject>.<what>`."""
    return _text(_read_bytes(path, subject, expected), path, subject)


def read_list(path: Path, subject: str, expected: str) -> str | list[list[str]]:
    """The text of a list or, of a workbook, the rows of its first sheet. Errors as of `read_text`."""
    raw = _read_bytes(path, subject, expected)
    if is_workbook(raw):
        # openpyxl is large, and few lists are workbooks.
        from gossamer.intake.workbook import read_rows

        return read_rows(raw, path, subject)
    return _text(raw, path, subject)


def is_workbook(raw: bytes) -> bool:
    """Return True if a file is an Excel workbook, encrypted ones included."""
    return (raw.startswith(b"PK\x03\x04") and b"xl/workbook.xml" in raw) or (
        raw.startswith(b"\xd0\xcf\x11\xe0") and "EncryptedPackage".encode("utf-16-le") in raw
    )


def _text(raw: bytes, path: Path, subject: str) -> str:
    # Joined files bring the byte order mark of each part along; DOS programs end a file with Ctrl-Z.
    return _decode(raw, path, subject).replace("\ufeff", "").rstrip("\x1a")


def split_lines(text: str) -> list[str]:
    """Lines as editors count them: str.splitlines would also break at form feeds and Unicode separators."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def name_of(path: Path) -> str:
    """Return a path in a form that fits a one-line message."""
    return "standard input" if path == STDIN else _escaped(str(path))


def quoted(text: str, most: int = 60) -> str:
    """Quote a found text for a message: shortened, and without control characters that could move the cursor."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return f'"{_escaped(cut)}"'


def _escaped(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


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
    raw = raw.removeprefix(codecs.BOM_UTF8)  # or it would come out as three letters if the rest is Latin-1
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        if _CONTROL.search(raw):
            raise _binary(path, subject, "is not a text file") from None
    try:
        return raw.decode("cp1252")  # what Windows calls Latin-1
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
    """A line that could not be used, as it was written, and why: the end of a sentence that begins with "it"."""

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
