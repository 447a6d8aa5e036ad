"""Groups of commands that load a command's declaration only when that command is typed.

`commands/table.py` lists every command with the first sentence of its help, so the help of a group, the completion of
names and the suggestion for a mistyped name load none of them.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from typer.core import (  # type: ignore[attr-defined] # CompletionItem is not in its list of names
    CompletionItem,
    TyperCommand,
    TyperGroup,
)

from gossamer.cli.commands.table import Row, commands
from gossamer.recipes.registry import RECIPES

NAMES = ("gossamer", "backlink-prospector")
"""Names the program is installed under. Texts in the code use the first; output uses the one that was typed."""


@cache
def _named() -> re.Pattern[str]:
    """The program's name where a command of it follows."""
    root = "|".join(row.name for rows in commands()[""].values() for row in rows)
    return re.compile(rf"(?<![\w./-])(?<!-m )gossamer(?= (?:--[a-z]|-h\b|(?:{root})\b))")


def as_called(text: str) -> str:
    """Write commands in a text with the name the program was called by: `backlink-prospector job status 3f9a2c71`."""
    name = Path(sys.argv[0]).name
    return _named().sub(name, text) if name in NAMES[1:] else text


class LazyCommands(Mapping[str, Any]):
    """The commands of a group by name; looking one up loads its declaration."""

    def __init__(self, group: str) -> None:
        self._group = group
        self._rows = {row.name: row for rows in commands()[group].values() for row in rows}
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = load(self._group, self._rows[name])
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class CommandGroup(TyperGroup):
    """A group of the table. Its help lists commands by section with the whole first sentence of theirs."""

    def __init__(self, *, path: str = "", **named: Any) -> None:
        super().__init__(**named)
        self.path = path
        self.commands = cast("Any", LazyCommands(path))

    def get_help(self, ctx: Any) -> str:
        return as_called(super().get_help(ctx))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for title, rows in commands()[self.path].items():
            with formatter.section(title):
                formatter.write_dl([(row.name, row.help) for row in rows])

    def shell_complete(self, ctx: Any, incomplete: str) -> list[CompletionItem]:
        rows = (row for rows in commands()[self.path].values() for row in rows if row.name.startswith(incomplete))
        # Shells show a short form of the help, which the library makes.
        names = [
            CompletionItem(row.name, help=TyperCommand(row.name, help=row.help).get_short_help_str()) for row in rows
        ]
        # Skip TyperGroup, which would load every command to read its help.
        return [*names, *super(TyperGroup, self).shell_complete(ctx, incomplete)]


def load(group: str, row: Row) -> Any:
    """Build the command or the group that a row of the table names."""
    path = f"{group} {row.name}".strip()
    if row.is_group:
        return CommandGroup(path=path, name=row.name, help=row.help, no_args_is_help=True, rich_markup_mode=None)
    if row.recipe:
        made = import_module("gossamer.cli.commands.recipes").declaration(RECIPES[row.recipe])
        return made.build()
    module, _, name = row.target.partition(":")
    return getattr(import_module(f"gossamer.cli.commands.{module}"), name).build()


class LazyModule:
    """A module that is loaded when something of it is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


def lazy_module(name: str) -> Any:
    """Name a module to be loaded at first use. Type checkers see the module itself, imported under TYPE_CHECKING."""
    return LazyModule(name)
