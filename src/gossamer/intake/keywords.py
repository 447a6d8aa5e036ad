"""Lists of keywords: parsed to unique words and phrases."""

import csv
import re
import shlex
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gossamer.errors import UserError
from gossamer.intake.columns import HEADERS
from gossamer.intake.textfile import STDIN, SkippedLine, UnusableCell, name_of, quoted, read_list, split_lines

MAX_KEYWORDS = 500
MAX_LENGTH = 200

EXPECTED = "Expected one keyword or phrase per line."

_QUOTED = re.compile(r'\s*"((?:[^"]|"")*)"[\s,;]*')
# Zero-width spaces, word joiners, soft hyphens, direction marks: invisible, and they would prevent matches.
_INVISIBLE = str.maketrans("", "", "\u200b\u200e\u200f\u2060\u061c\u00ad")
# Typographic quotes, which office programs substitute for plain ones.
_DOUBLE, _SINGLE = "\u201c\u201d\u201e\u201f\u00ab\u00bb\uff02", "\u2018\u2019\u201a\u201b\u2039\u203a"
_APOSTROPHE = re.compile(r"(?<=\w)\u2019(?=\w)")
_SMART_QUOTED = re.compile(rf"\s*(?:[{_DOUBLE}](.*)[{_DOUBLE}]|[{_SINGLE}](.*)[{_SINGLE}])[\s,;]*")
_CELL = re.compile(r'(?:^|(?<=[,;\t|]))\s*"[^"]*"')  # one in quotes
_COMMENT = re.compile(r"\s*#(?:\s|$)")
_TITLES = ("keyword", "keywords", "search term", "search terms", "query", "phrase")
# "Query" and "phrase" may be keywords themselves.
_HEADINGS = ("keyword", "keywords", "search term", "search terms")
_DELIMITERS = (",", ";", "\t", "|")


@dataclass(frozen=True, slots=True)
class KeywordList:
    """Keywords in their original order; `duplicates` were left out, usually ignoring case.

    `heading` is the first line of a text file if it is a heading for the list and not a keyword.
    """

    keywords: tuple[str, ...]
    duplicates: int
    heading: str = ""
    column: str = ""  # the column used, for a table without a keyword header
    skipped: tuple[SkippedLine, ...] = ()  # invalid lines, if they were to be skipped
    parted: tuple[str, int] = ("", 0)  # the first unquoted --keyword that was split, and into how many


def read_keywords(
    path: Path | None, typed: Sequence[str] = (), *, skip_invalid: bool = False, case_sensitive: bool = False
) -> KeywordList:
    """Read a file of keywords and those of the command line, each of which may be a list on a single line.

    Raises UserError for the first invalid line, unless such lines are skipped.
    """
    found: dict[str, str] = {}
    refused: list[tuple[int, str, str]] = []
    duplicates = 0
    heading, column, entries = _from_file(path) if path else ("", "", [])
    parts = [(text, _parts(text)) for text in typed]
    for number, line in [*entries, *((0, part) for _, some in parts for part in some)]:
        keyword = _keyword(line)
        objection = line.why if isinstance(line, UnusableCell) else _objection(keyword)
        spelling = keyword if case_sensitive else keyword.casefold()
        if objection and not number:
            what = f": {quoted(line)} {objection}" if line else " is empty"
            raise UserError("keywords.bad_keyword", f"--keyword{what}.", hint="Give a word or a phrase.")
        if objection:
            refused.append((number, line, objection))
        elif spelling in found:
            duplicates += 1
        else:
            found[spelling] = keyword
    if refused and path and not skip_invalid:
        raise _bad_keyword(path, refused)
    _check_number(path, found)
    skipped = tuple(SkippedLine(number, line, objection) for number, line, objection in refused)
    parted = next(((text, len(some)) for text, some in parts if len(some) > 1 and '"' not in text), ("", 0))
    return KeywordList(tuple(found.values()), duplicates, heading, column, skipped, parted)


def _check_number(path: Path | None, found: Mapping[str, str]) -> None:
    if not found and path is None:
        raise UserError("keywords.missing", "No keywords were given.", hint="Give --keywords FILE or --keyword WORD.")
    where = name_of(path) if path else "The command line"
    if not found:
        message = f"{where} has no keywords in it, only blank lines or comments."
        raise UserError("keywords.empty", message, hint=EXPECTED)
    if len(found) > MAX_KEYWORDS:
        message = f"{where} has {len(found):,} keywords, {MAX_KEYWORDS} are the most one job takes."
        raise UserError("keywords.too_many", message, hint="Remove the least important ones, or start several jobs.")


def loaded_sentence(loaded: KeywordList, path: Path | None) -> str:
    """Return `Loaded 23 keywords from keywords.txt`, with notes on headings and columns."""
    count = len(loaded.keywords)
    said = f"Loaded {count:,} keyword{'' if count == 1 else 's'}"
    if path:
        said += f" from {name_of(path if path == STDIN else Path(path.name))}"
    if loaded.column:
        said += f", {loaded.column}: no column is called 'keyword'"
    if loaded.heading:
        said += f". Its first line, {quoted(loaded.heading)}, is taken for a heading; as a keyword, put it further down"
    text, several = loaded.parted
    if several:
        said += f". {quoted(text)} is read as {several:,} keywords"
        if text.isprintable() and len(text) <= MAX_LENGTH:
            said += f"; to have it as one, write --keyword {shlex.quote(quoted(text, MAX_LENGTH))}"
    return said


def matching_sentence(*, case_sensitive: bool, plurals: bool) -> str:
    """Describe the matching rules of mentions: `Whole words only, in any case`."""
    case = "in exactly this case" if case_sensitive else "in any case"
    return f"Whole words only, {case}" + (", singular and plural" if plurals else "")


def _from_file(path: Path) -> tuple[str, str, list[tuple[int, str]]]:
    """Return the heading of a list, the column used of a table, and numbered entries."""
    read = read_list(path, "keywords", EXPECTED)
    if isinstance(read, str):
        lines = split_lines(read)
        heading = _heading(path, lines)
        numbered = _entries(path, lines)
    else:
        lines, heading = [], 0
        numbered = _sheet_entries(read)
    entries = [(number, text) for number, text in numbered if text and number != heading and not _COMMENT.match(text)]
    first = _first_row(path, read)
    column = _untitled_column(path, first, entries) if sum(bool(cell.strip()) for cell in first) > 1 else ""
    return (lines[heading - 1].strip() if heading else ""), column, entries


def _first_row(path: Path, read: str | list[list[str]]) -> list[str]:
    """Return the first row of a table; empty for a plain list."""
    if not isinstance(read, str):
        return next((row for row in read if row), [])
    if path.suffix.lower() not in (".csv", ".tsv"):
        return []
    return next((_split(line) for line in split_lines(read) if line.strip() and not _COMMENT.match(line)), [])


def _untitled_column(path: Path, first: Sequence[str], entries: Sequence[tuple[int, str]]) -> str:
    """Return a note about the first column if no title marks it as keywords; a list of sites is refused."""
    titles = [_keyword(cell).casefold() for cell in first]
    if any(title in _TITLES for title in titles):
        return ""
    if any(title in HEADERS for title in titles):
        columns = ", ".join(quoted(cell.strip()) for cell in first if cell.strip())
        raise UserError(
            "keywords.no_column",
            f"{name_of(path)} has no column of keywords: its columns are {columns}.",
            hint="Call the column 'keyword', or give a list with one keyword per line.",
        )
    some = [_keyword(text) for _, text in entries[:3]]
    return f"column 1 ({', '.join(name_of(Path(one[:40])) for one in some if one)}{', ...' * (len(entries) > 3)})"


def _sheet_entries(sheet: list[list[str]]) -> Iterator[tuple[int, str]]:
    """Yield one column of a sheet: the one with a keyword header, else the first."""
    rows = [(number, row) for number, row in enumerate(sheet, start=1) if row]
    titled = [at for at, cell in enumerate(rows[0][1]) if _keyword(cell).casefold() in _TITLES] if rows else []
    column = titled[0] if titled else 0
    for number, row in rows[1:] if titled else rows:
        yield number, row[column] if column < len(row) else ""


def _entries(path: Path, lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield numbered entries: lines of a text file, one column of a table, or the parts of a one-line list.

    A table is a file called `.csv` or `.tsv`, or one whose first line has a keyword column among others. In any
    other file a line is a keyword whatever it contains.
    """
    written = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    first = _split(written[0][1]) if written else []
    titled = [position for position, cell in enumerate(first) if _keyword(cell).casefold() in _TITLES]
    spreadsheet = path.suffix.lower() in (".csv", ".tsv")
    if spreadsheet or (titled and len(first) > 1):
        column = titled[0] if titled else 0
        delimiter = _delimiter(written[0][1]) if written else ","
        for number, line in written[1:] if titled else written:
            cells = _split(line, delimiter)
            yield number, cells[column] if column < len(cells) else ""
    elif len(written) == 1 and len(parts := _parts(written[0][1])) > 1:
        yield from ((written[0][0], part) for part in parts)
    else:
        yield from enumerate(lines, start=1)


def _parts(line: str) -> list[str]:
    """Return the entries of a one-line list; a line that is quoted or has no delimiter is one entry."""
    if _QUOTED.fullmatch(line) or _without_smart_quotes(line) != line:
        return [line]
    bare = _CELL.sub("", line)
    delimiter = _delimiter(bare)
    cells = _split(line, delimiter) if delimiter in bare else [line]
    return [cell for cell in cells if cell.strip()] or [line]


def _heading(path: Path, lines: list[str]) -> int:
    """Return the line number of a text file's heading; 0 if it has none."""
    written = [number for number, line in enumerate(lines, start=1) if line.strip() and not _COMMENT.match(line)]
    if path.suffix.lower() in (".csv", ".tsv") or len(written) < 2:
        return 0
    first = _keyword(lines[written[0] - 1]).rstrip(":").casefold()
    return written[0] if first in _HEADINGS else 0


def _delimiter(line: str) -> str:
    return max(_DELIMITERS, key=line.count)


def _split(line: str, delimiter: str = "") -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter or _delimiter(line), skipinitialspace=True), [line])
    except csv.Error:  # a cell that is too long, or a stray carriage return: not a table line
        return [line]


def _keyword(line: str) -> str:
    # No keyword is that long, and the pattern needs memory for every character.
    whole = _QUOTED.fullmatch(line) if len(line) < 10 * MAX_LENGTH else None
    text = whole[1].replace('""', '"') if whole else _without_smart_quotes(line)
    return " ".join(unicodedata.normalize("NFC", text.translate(_INVISIBLE)).split())


def _without_smart_quotes(line: str) -> str:
    """Remove typographic quotes around the whole text; two quoted phrases on a line are unchanged."""
    whole = _SMART_QUOTED.fullmatch(line) if len(line) < 10 * MAX_LENGTH else None
    if whole is None:
        return line
    inner = whole[1] if whole[1] is not None else whole[2]
    marks = _DOUBLE if whole[1] is not None else _SINGLE
    between = _APOSTROPHE.sub("", inner)
    return line if any(mark in between for mark in marks) else inner


def _objection(keyword: str) -> str:
    if not keyword:
        return "holds only spaces"
    if not keyword.strip("".join(_DELIMITERS)):
        return "holds only commas or the like"
    if len(keyword) > MAX_LENGTH:
        return f"is longer than {MAX_LENGTH} characters"
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in keyword):
        return "contains control characters"
    return ""


def _bad_keyword(path: Path, refused: list[tuple[int, str, str]]) -> UserError:
    (number, line, objection), more = refused[0], len(refused) - 1
    message = f"{name_of(path)}, line {number}: {quoted(line)} {objection}."
    if more:
        message += f" {more:,} more line{'' if more == 1 else 's'} cannot be used either."
    return UserError(
        "keywords.bad_keyword",
        message,
        hint=f"Write a keyword there or delete the line, or skip such lines with --skip-invalid. {EXPECTED}",
    )
