"""How help is laid out: commands in sections and with their whole first sentence, values in words."""

import re
import sys
from pathlib import Path
from typing import Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from gossamer.cli.values import offer_values
from gossamer.errors import UserError

# Commands by what people want to do. The first column is what is typed before them.
SECTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "gossamer": {
        "Jobs": ("job", "scrape", "explain"),
        "Servers": ("serve", "worker", "login", "logout", "account", "webhook"),
        "This installation": ("doctor", "system", "db", "completion"),
    },
    "gossamer job": {
        "Start and steer": ("run", "estimate", "start", "pause", "resume", "cancel", "retry-failed", "rerun", "rename"),
        "Look": ("list", "status", "watch", "sites", "pages", "results", "summary"),
        "Understand": ("errors", "history", "cost-report", "politeness", "audit"),
        "Files": ("export", "export-status", "exports", "export-cancel"),
        "Remove": ("delete", "forget"),
    },
}

NAMES = ("gossamer", "backlink-prospector")
"""What the program may be called by. Sentences and help say the first; what is printed says the one that was typed."""

_COMMANDS = "|".join(name for names in SECTIONS["gossamer"].values() for name in names)
_NAMED = re.compile(rf"(?<![\w./-])(?<!-m )gossamer(?= (?:--[a-z]|-h\b|(?:{_COMMANDS})\b))")

_VALUES: dict[Any, str] = {int: "N", float: "N", Path: "FILE", str: "TEXT"}

_TYPE = re.compile(r" <[^<>]*>(\.\.\.)?$")
_RANGE = re.compile(r"(?:([\d.]+)<=)?x(?:<=([\d.]+)|>=([\d.]+))(?=[;\]])")
_EXAMPLE = re.compile(r"(?:^|(?<=\n\n))(?:\x08\n)?(?= {4})")


def as_called(text: str) -> str:
    """Commands in a text under the name the program was called by: `backlink-prospector job status 3f9a2c71`."""
    name = Path(sys.argv[0]).name
    return _NAMED.sub(name, text) if name in NAMES[1:] else text


class CommandGroup(TyperGroup):
    """Commands that are listed by section."""

    def get_help(self, ctx: Any) -> str:
        return as_called(super().get_help(ctx))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        commands = {
            name: command
            for name in self.list_commands(ctx)
            if (command := self.get_command(ctx, name)) and not command.hidden
        }
        place = " ".join(["gossamer", *ctx.command_path.split()[1:]])
        sections = SECTIONS.get(place, {"Commands": tuple(commands)})
        for title, names in sections.items():
            rows = [(name, first_sentence(commands[name])) for name in names if name in commands]
            with formatter.section(title):
                formatter.write_dl(rows)


class StrictCommand(TyperCommand):
    """A command that refuses an option given twice: the last one silently winning is rarely what was meant."""

    def __init__(self, *arguments: Any, help: str | None = None, **named: Any) -> None:  # noqa: A002 - the library's name
        # Indented paragraphs are commands to copy: marked like this, no line of them is broken.
        super().__init__(*arguments, help=_EXAMPLE.sub("\b\n", help) if help else help, **named)
        for param in self.params:
            offer_values(param)

    def get_help(self, ctx: Any) -> str:
        return as_called(super().get_help(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return ["[OPTIONS]", *(_argument(param) for param in self.params if param.param_type_name == "argument")]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        name_values(self)
        for title, kind in (("Arguments", "argument"), ("Options", "option")):
            shown = [param for param in self.get_params(ctx) if param.param_type_name == kind]
            rows = [_in_words(*record) for param in shown if (record := param.get_help_record(ctx))]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if ctx.resilient_parsing:  # a shell asks what may follow: what is typed so far is not judged
            return super().parse_args(ctx, args)
        try:
            _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        except Exception as error:
            # The library's own errors say which command they are about, but for some of its parser.
            if getattr(error, "ctx", ctx) is None:
                error.ctx = ctx  # type: ignore[attr-defined]
            raise
        for param in order:
            if param.param_type_name == "option" and not param.multiple and order.count(param) > 1:
                raise UserError(
                    "usage.duplicate", f"{max(param.opts, key=len)} was given more than once.", hint="Give it once."
                )
        return super().parse_args(ctx, args)


def name_values(command: Any) -> None:
    """Say in words what an option without a metavar takes: `N`, `FILE`, `TEXT`."""
    hints = get_type_hints(command.callback)
    for param in command.params:
        if param.param_type_name == "option" and param.metavar is None and not getattr(param, "is_flag", False):
            kinds = {
                kind for part in (hints.get(param.name), *get_args(hints.get(param.name))) for kind in _kinds(part)
            }
            param.metavar = next((value for kind, value in _VALUES.items() if kind in kinds), None)


def _argument(param: Any) -> str:
    """`ID`, `[ID]` or `[URL]...`, as it may be left out or repeated."""
    name = (param.metavar or param.name.upper()).removesuffix("...").strip("[]")
    return (name if param.required else f"[{name}]") + ("..." if param.nargs == -1 else "")


def _in_words(names: str, text: str) -> tuple[str, str]:
    """A row of help without the library's own signs: `1<=x<=500` is 1 to 500, and an argument's name says enough."""
    return _TYPE.sub("", names), _RANGE.sub(_range_in_words, text)


def _range_in_words(found: re.Match[str]) -> str:
    lowest, highest, least = (f"{float(end):,.0f}" if end else "" for end in found.groups())
    lowest = lowest or least
    if lowest and highest:
        return f"{lowest} to {highest}"
    return f"at least {lowest}" if lowest else f"at most {highest}"


def _kinds(hint: Any) -> tuple[Any, ...]:
    """A type and those inside it: `list[str] | None` is about `str`."""
    return (hint, *get_args(hint))


def command_group(**named: Any) -> typer.Typer:
    """A group of commands. Plain help: no option name is cut in a narrow terminal, and it appears at once."""
    return typer.Typer(cls=CommandGroup, rich_markup_mode=None, **named)


def first_sentence(command: Any) -> str:
    """The first sentence of a command's help, whole."""
    return str(command.get_short_help_str(limit=1_000))
