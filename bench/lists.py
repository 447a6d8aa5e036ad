"""Lists as people bring them: domains that belong to nobody in particular, and keywords."""

from collections.abc import Iterator
from pathlib import Path

_FIRST = ("blue", "north", "bright", "old", "green", "river", "stone", "silver", "open", "quiet", "east", "cedar")
_SECOND = ("bakery", "garage", "studio", "clinic", "travel", "garden", "press", "tools", "school", "market", "labs")
_ENDINGS = ("com", "de", "co.uk", "org", "fr", "com.au", "net", "io", "nl", "co.jp")
_GOODS = ("CRM", "invoice", "payroll", "warehouse", "booking", "e-commerce", "accounting", "help desk", "inventory")
_KINDS = ("", "software", "tool", "system", "for small business", "integration")


def domains(count: int) -> Iterator[str]:
    """So many names, each a registrable domain of its own."""
    for number in range(count):
        first, second = _FIRST[number % len(_FIRST)], _SECOND[number // 7 % len(_SECOND)]
        yield f"{first}-{second}-{number}.{_ENDINGS[number % len(_ENDINGS)]}"


def keywords() -> list[str]:
    return [f"{good} {kind}".strip() for good in _GOODS for kind in _KINDS]


def write_lines(path: Path, lines: Iterator[str] | list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path
