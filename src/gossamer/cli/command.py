"""Declare commands: a function's parameters are the options, its docstring is the help.

The modules in `commands` declare what can be typed. They are also loaded to complete options and to show help, so they
import nothing large: the work of a command is in a module of its own, named by `lazy_module`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand

from gossamer.cli.completion import offer_values
from gossamer.cli.group import as_called
from gossamer.errors import UserError

_VALUES: dict[Any, str] = {int: "N", float: "N", Path: "FILE", str: "TEXT"}

_TYPE = re.compile(r" <[^<>]*>(\.\.\.)?$")
_RANGE = re.compile(r"(?:([\d.]+)<=)?x(?:<=([\d.]+)|>=([\d.]+))(?=[;\]])")
_EXAMPLE = re.compile(r"(?:^|(?<=\n\n))(?:\x08\n)?(?= {4})")


@dataclass(frozen=True, slots=True)
class Declaration:
    """A declared command: what is typed for it, and the function that takes its options."""

    path: str
    function: Callable[..., None]

    def build(self) -> TyperCommand:
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(self.path.rpartition(" ")[2], cls=StrictCommand)(self.function)
        built = typer.main.get_command(app)
        assert isinstance(built, TyperCommand)  # noqa: S101 - a single function never makes a group
        return built


def command(path: str) -> Callable[[Callable[..., None]], Declaration]:
    """Declare a command by what is typed for it: `@command("job status")`. The table lists it under the same path."""
    return lambda function: Declaration(path, function)


def with_parameters(
    function: Callable[..., None], help_text: str, parameters: Mapping[str, tuple[Any, Any]]
) -> Callable[..., None]:
    """Give a function of keyword arguments the parameters from which the library reads the options of a command.

    Each has a type and the declaration of an option or an argument.
    """
    function.__doc__ = help_text
    function.__annotations__ = {name: kind for name, (kind, _) in parameters.items()}
    function.__signature__ = Signature(  # type: ignore[attr-defined] # it is what `signature` reads
        [
            Parameter(name, Parameter.KEYWORD_ONLY, default=option, annotation=kind)
            for name, (kind, option) in parameters.items()
        ]
    )
    return function


class StrictCommand(TyperCommand):
    """A command that refuses an option given twice; taking the last one silently is rarely what was meant."""

    def __init__(self, *arguments: Any, help: str | None = None, **named: Any) -> None:  # noqa: A002 - the library's name
        # Indented paragraphs are commands to copy: this mark keeps their lines unbroken.
        super().__init__(*arguments, help=_EXAMPLE.sub("\b\n", help) if help else help, **named)
        for param in self.params:
            offer_values(param)
            if param.default == "":
                param.show_default = False  # type: ignore[attr-defined] # options and arguments of Typer have it

    def get_help(self, ctx: Any) -> str:
        return as_called(super().get_help(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return ["[OPTIONS]", *(_argument(param) for param in self.params if param.param_type_name == "argument")]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        name_values(self)
        for title, kind in (("Arguments", "argument"), ("Options", "option")):
            shown = [param for param in self.get_params(ctx) if param.param_type_name == kind]
            rows = [_plain_row(*record) for param in shown if (record := param.get_help_record(ctx))]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if ctx.resilient_parsing:  # the shell asks for completions: do not validate what is typed so far
            return super().parse_args(ctx, args)
        try:
            _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        except Exception as error:
            # Some errors of the library's parser do not carry the context that other errors have.
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
    """Give options without a metavar one by their type: `N`, `FILE`, `TEXT`."""
    hints = get_type_hints(command.callback)
    for param in command.params:
        if param.param_type_name == "option" and param.metavar is None and not getattr(param, "is_flag", False):
            kinds = {
                kind for part in (hints.get(param.name), *get_args(hints.get(param.name))) for kind in _kinds(part)
            }
            param.metavar = next((value for kind, value in _VALUES.items() if kind in kinds), None)


def _argument(param: Any) -> str:
    """An argument in the usage line: `ID`, `[ID]` or `[URL]...`."""
    name = (param.metavar or param.name.upper()).removesuffix("...").strip("[]")
    return (name if param.required else f"[{name}]") + ("..." if param.nargs == -1 else "")


def _plain_row(names: str, text: str) -> tuple[str, str]:
    """A row of help without the library's notation: `1<=x<=500` becomes 1 to 500, and types are dropped."""
    return _TYPE.sub("", names), _RANGE.sub(_plain_range, text)


def _plain_range(found: re.Match[str]) -> str:
    lowest, highest, least = (f"{float(end):,.0f}" if end else "" for end in found.groups())
    lowest = lowest or least
    if lowest and highest:
        return f"{lowest} to {highest}"
    return f"at least {lowest}" if lowest else f"at most {highest}"


def _kinds(hint: Any) -> tuple[Any, ...]:
    """A type and its arguments: `list[str] | None` includes `str`."""
    return (hint, *get_args(hint))
