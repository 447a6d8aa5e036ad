"""Stage one of a prospecting job: from a file of keywords to the words and phrases that are looked for, each once."""

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from gossamer.errors import UserError
from gossamer.intake.textfile import name_of, quoted, read_text, split_lines

MAX_KEYWORDS = 500
MAX_LENGTH = 200

EXPECTED = "Expected one keyword or phrase per line."

_QUOTED = re.compile(r'\s*"((?:[^"]|"")*)"[\s,;]*')
# Zero-width spaces, word joiners, soft hyphens: nobody sees them, and no page would match them.
_INVISIBLE = str.maketrans("", "", "\u200b\u2060\u00ad")
_COMMENT = re.compile(r"\s*#(?:\s|$)")
_TITLES = ("keyword", "keywords")


@dataclass(frozen=True, slots=True)
class KeywordList:
    """Keywords in the order they were first written; `duplicates` were left out, capitals not counting."""

    keywords: tuple[str, ...]
    duplicates: int


def read_keywords(path: Path) -> KeywordList:
    """Read a list of keywords. All of it is read or none: the first line that holds no keyword is a `UserError`."""
    found: dict[str, str] = {}
    refused: list[tuple[int, str, str]] = []
    duplicates = 0
    for number, line in enumerate(split_lines(read_text(path, "keywords", EXPECTED)), start=1):
        if not line or _COMMENT.match(line) or _is_title(path, number, line):
            continue
        keyword = _keyword(line)
        objection = _objection(keyword)
        if objection:
            refused.append((number, line, objection))
        elif keyword.casefold() in found:
            duplicates += 1
        else:
            found[keyword.casefold()] = keyword
    if refused:
        raise _bad_keyword(path, refused)
    if not found:
        message = f"{name_of(path)} has no keywords in it, only blank lines or comments."
        raise UserError("keywords.empty", message, hint=EXPECTED)
    if len(found) > MAX_KEYWORDS:
        message = f"{name_of(path)} has {len(found):,} keywords, {MAX_KEYWORDS} are the most one job takes."
        raise UserError("keywords.too_many", message, hint="Remove the least important ones, or start several jobs.")
    return KeywordList(tuple(found.values()), duplicates)


def loaded_sentence(loaded: KeywordList, path: Path) -> str:
    """`Loaded 23 keywords from keywords.txt`."""
    count = len(loaded.keywords)
    return f"Loaded {count:,} keyword{'' if count == 1 else 's'} from {name_of(Path(path.name))}"


def _is_title(path: Path, number: int, line: str) -> bool:
    """Spreadsheets save a title above the column. In a text file the same word is a keyword like any other."""
    return number == 1 and path.suffix.lower() == ".csv" and _keyword(line).casefold() in _TITLES


def _keyword(line: str) -> str:
    # No keyword is that long; the pattern keeps its place in memory for every character.
    whole = _QUOTED.fullmatch(line) if len(line) < 10 * MAX_LENGTH else None
    text = whole[1].replace('""', '"') if whole else line
    return " ".join(unicodedata.normalize("NFC", text.translate(_INVISIBLE)).split())


def _objection(keyword: str) -> str:
    if not keyword:
        return "holds only spaces"
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
    return UserError("keywords.bad_keyword", message, hint=f"Write a keyword there or delete the line. {EXPECTED}")
