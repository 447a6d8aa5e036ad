"""Context of an encoder, besides the lines."""

from dataclasses import dataclass
from pathlib import Path

from gossamer.recipes.base import Column, Looks, Table


@dataclass(frozen=True, slots=True)
class Draft:
    """A file to be made."""

    table: Table
    columns: tuple[Column, ...]  # as the lines have them: in nested JSON the keys come first
    looks: Looks = Looks()
    expected: int = 0  # lines, as far as is known
    folder: Path | None = None  # for what cannot be written in one go; the system's folder if none
