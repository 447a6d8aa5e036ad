"""Readable values for people in workbooks and reports: names of hosts, and dates."""

import unicodedata
from collections.abc import Callable
from datetime import date
from functools import lru_cache
from urllib.parse import urlsplit

from gossamer.recipes.base import Column

_EPOCH = date(1899, 12, 30).toordinal()  # day 0 of spreadsheets
_MOST_SCRIPTS = 1  # of one part of a name: letters of several look alike, and are used to deceive


def readable_host(host: str) -> str:
    """Return `xn--bcher-kva.example` as `bücher.example`; a possibly deceptive name stays unchanged."""
    if "xn--" not in host:
        return host
    return ".".join(map(_label, host.split(".")))


@lru_cache(maxsize=4_096)
def _label(label: str) -> str:
    if not label.startswith("xn--"):
        return label
    try:
        read = label[4:].encode("ascii").decode("punycode")
    except UnicodeError:
        return label
    letters = [one for one in read if one.isalpha()]
    plain = all(one.isalnum() or one == "-" or unicodedata.category(one).startswith("M") for one in read)
    scripts = {unicodedata.name(one, "").partition(" ")[0] for one in letters}
    # Japanese is written in three scripts at once.
    together = scripts <= {"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"}
    if (
        not read
        or not plain
        or not (together or len(scripts) <= _MOST_SCRIPTS)
        or read != unicodedata.normalize("NFKC", read)
    ):
        return label
    return read if _is_not_latin_in_disguise(read, scripts) else label


_LIKE_LATIN = frozenset("аеорсухіјѕһԁԛԝѵӏαορνικυτχ")


def _is_not_latin_in_disguise(read: str, scripts: set[str]) -> bool:
    return not (scripts & {"CYRILLIC", "GREEK"}) or not set(read) - {"-"} <= _LIKE_LATIN


def readable_url(url: str) -> str:
    """An address with the name of its host as people write it."""
    if "xn--" not in url:
        return url
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return url
    shown = readable_host(host)
    return url.replace(host, shown, 1) if host and shown != host else url


def day_number(text: str) -> float | str:
    """Convert `2026-11-16` or `2026-11-16T01:42:18Z` to a spreadsheet day number; other text stays text."""
    day, _, time = text.partition("T")
    try:
        number = _day(day)
        if not time:
            return number
        hours, minutes, seconds = int(time[:2]), int(time[3:5]), int(time[6:8])
    except ValueError:
        return text
    return number + (3_600 * hours + 60 * minutes + seconds) / 86_400


@lru_cache(maxsize=1_024)
def _day(text: str) -> int:
    return date.fromisoformat(text).toordinal() - _EPOCH


Shown = Callable[[str], float | str]


def shown_as(column: Column) -> Shown | None:
    """Return the function that formats the texts of a column; None: they remain unchanged."""
    if column.kind == "url":
        return readable_url
    if format_of(column) in ("time", "date"):
        return day_number
    if column.sheet.words:
        return _in_words(column)
    return readable_host if column.name == "domain" else None


def _in_words(column: Column) -> Shown:
    """`Column.in_words` for very many values."""
    words = dict(column.sheet.words)
    return column.in_words if column.sheet.separator else lambda value: words.get(value, value)


def format_of(column: Column) -> str:
    """The name of the format of a column's cells."""
    return "date" if column.sheet.is_day else column.kind
