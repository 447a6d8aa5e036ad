"""The table of commands says what their declarations say, and spares the program loading them."""

import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from itertools import chain
from pkgutil import iter_modules

import pytest

from gossamer.cli import commands
from gossamer.cli.command import Declaration
from gossamer.cli.commands.table import commands as all_commands
from gossamer.cli.group import load
from tests.cli.test_startup import HEAVY

COMMANDS = all_commands()
ROWS = [(group, title, row) for group, sections in COMMANDS.items() for title, rows in sections.items() for row in rows]


def declarations() -> dict[str, Declaration]:
    """Everything declared in the modules of `gossamer.cli.commands`, by "module:name"."""
    return {
        f"{module.name}:{name}": value
        for module in iter_modules(commands.__path__)
        for name, value in vars(import_module(f"{commands.__name__}.{module.name}")).items()
        if isinstance(value, Declaration)
    }


def test_every_declaration_stands_in_the_table_under_what_is_typed_for_it() -> None:
    listed = {row.target: f"{group} {row.name}".strip() for group, _, row in ROWS if row.target}
    assert listed == {target: declared.path for target, declared in declarations().items()}


def test_the_table_gives_the_first_sentence_of_each_command() -> None:
    for group, _, row in ROWS:
        command = load(group, row)
        assert command.name == row.name
        assert command.get_short_help_str(limit=1_000) == row.help, f"{group} {row.name}: cli/commands/table.py"


def test_a_row_without_a_declaration_is_a_group_of_the_table() -> None:
    groups = {f"{group} {row.name}".strip() for group, _, row in ROWS if row.is_group}
    assert groups == COMMANDS.keys() - {""}


def test_no_name_is_listed_twice_in_a_group() -> None:
    for group, sections in COMMANDS.items():
        names = [row.name for row in chain.from_iterable(sections.values())]
        assert len(names) == len(set(names)), group


COMPLETE = {"_GOSSAMER_COMPLETE": "complete_bash"}


@pytest.mark.parametrize(
    ("typed", "environment"),
    [
        ("--help", {}),
        ("--version", {}),
        ("job --help", {}),
        ("system keys --help", {}),
        ("job statsu", {}),
        ("nonsense", {}),
        ("job", {**COMPLETE, "COMP_WORDS": "gossamer\njob\nre", "COMP_CWORD": "2"}),
        ("", {**COMPLETE, "COMP_WORDS": "gossamer\n", "COMP_CWORD": "1"}),
    ],
)
def test_groups_load_no_command(typed: str, environment: Mapping[str, str]) -> None:
    code = (
        "import sys\n"
        "from gossamer.cli import main\n"
        f"sys.argv = ['gossamer', *{typed!r}.split()]\n"
        "try:\n    main.main()\nexcept SystemExit:\n    pass\n"
        "print('LOADED', *sorted(sys.modules), file=sys.__stdout__)"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.rpartition("LOADED")[2].split())
    declared = {name for name in loaded if name.startswith("gossamer.cli.commands.")}
    assert declared == {"gossamer.cli.commands.table"}
    assert "gossamer.settings" not in loaded


def test_declarations_load_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from gossamer.cli.group import load\n"
        "from gossamer.cli.commands.table import commands\n"
        "for group, sections in commands().items():\n"
        "    for rows in sections.values():\n"
        "        for row in rows:\n"
        "            load(group, row)\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules} | set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "gossamer.cli.commands.job" in loaded
    assert not loaded & (HEAVY | {"rich", "asyncpg", "gossamer.settings", "gossamer.cli.runtime"})
