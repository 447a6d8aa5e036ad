"""Lists as people bring them: domains that belong to nobody in particular, and keywords."""

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

_FIRST = ("blue", "north", "bright", "old", "green", "river", "stone", "silver", "open", "quiet", "east", "cedar")
_SECOND = ("bakery", "garage", "studio", "clinic", "travel", "garden", "press", "tools", "school", "market", "labs")
_ENDINGS = ("com", "de", "co.uk", "org", "fr", "com.au", "net", "io", "nl", "co.jp")
_GOODS = ("CRM", "invoice", "payroll", "warehouse", "booking", "e-commerce", "accounting", "help desk", "inventory")
_KINDS = ("", "software", "tool", "system", "for small business", "integration")

# On the pages of the corpus: from words of every other page down to what nobody would look for there.
_WRITTEN_ABOUT = (
    *("database", "security", "replication", "C++", "regular expression", "time zone", "web server", "open source"),
    *("CRM", "newsletter", "PostgreSQL", "Django", "memory", "performance", "transaction", "Windows", "session"),
    *("template", "release notes", "trigger", "command line", "password", "JSON", "thread", "Unicode", "foreign key"),
    *("query planner", "XML", "virtual table", "middleware", "backup", "decorator", "cookie", "timeout", "checkpoint"),
    *("calendar", "test suite", "encryption", "upload", "garbage collection", "full-text search", "user interface"),
    *("localization", "customer", "dashboard", "machine learning", "invoice", "payroll", "e-commerce", ".NET"),
)


def domains(count: int) -> Iterator[str]:
    """So many names, each a registrable domain of its own."""
    for number in range(count):
        first, second = _FIRST[number % len(_FIRST)], _SECOND[number // 7 % len(_SECOND)]
        yield f"{first}-{second}-{number}.{_ENDINGS[number % len(_ENDINGS)]}"


def keywords() -> list[str]:
    return [f"{good} {kind}".strip() for good in _GOODS for kind in _KINDS]


def corpus_keywords(count: int) -> list[str]:
    """So many, up to 500. The first fifty are really written about in the corpus, the others hardly ever."""
    rare = (f"{first} {second} {kind}".strip() for kind in _KINDS for first in _FIRST for second in _SECOND)
    return list(islice(chain(_WRITTEN_ABOUT, rare), count))


def write_lines(path: Path, lines: Iterator[str] | list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path
