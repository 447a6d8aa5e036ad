"""The entry point: parse the command line, run the command, print errors as one line, set the exit code."""

import gc
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer
from typer.completion import completion_init  # type: ignore[attr-defined] # not in its list of names

from gossamer import __version__
from gossamer.cli.group import NAMES, CommandGroup, as_called, lazy_module
from gossamer.errors import GossamerError, UserError
from gossamer.plugins import load_plugins

if TYPE_CHECKING:
    from gossamer.cli import formatting, servers
else:
    formatting = lazy_module("gossamer.cli.formatting")
    servers = lazy_module("gossamer.cli.servers")

BAD_INPUT = 2
FAILED = 1
_COMPLETED = {f"_{name.replace('-', '_').upper()}_COMPLETE" for name in NAMES}
"""Environment variables that a shell sets to ask for completions."""

# Commands about this machine; a server does not run them for its users.
_LOCAL_ONLY = frozenset({"account", "db", "doctor", "serve", "worker"})

app = typer.Typer(
    name="gossamer",
    cls=CommandGroup,
    help="Visits web sites politely and cheaply and turns them into tables people can use.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gossamer {__version__}")
        raise typer.Exit


@app.callback()
def gossamer(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version."),
    local: bool = typer.Option(False, "--local", help="Run against this machine even when logged in to a server."),
) -> None:
    """Visits web sites politely and cheaply and turns them into tables people can use."""
    if local:
        os.environ["GOSSAMER_REMOTE"] = "local"
    elif context.invoked_subcommand in _LOCAL_ONLY and not {"-h", "--help"} & set(sys.argv):
        servers.refuse_logged_in(context.invoked_subcommand)


def main() -> None:
    if _COMPLETED & os.environ.keys():
        # The shell would print errors in the middle of the line that is being completed.
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115 - until the end
        completion_init()
    # Imports create no garbage, and looking for some takes a sixth of a short command's time.
    gc.set_threshold(50_000)
    try:
        load_plugins()
        code = app(standalone_mode=False)
    except UserError as error:
        complain(error)
        sys.exit(BAD_INPUT)
    except GossamerError as error:
        complain(error)
        sys.exit(FAILED)
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output has closed it. Python would fail again when it flushes at exit.
        sys.stdout = None
        sys.exit(0)
    except Exception as error:
        # Typer's exceptions share no public base class; they all have an exit code.
        if not hasattr(error, "exit_code"):
            raise
        message = getattr(error, "message", "") or str(error)
        if type(error).__name__ == "NoArgsIsHelpError":
            typer.echo(message)
        elif message or type(error).__name__ == "MissingParameter":
            complain(usage_error(error, message))
        sys.exit(error.exit_code)
    sys.exit(code if isinstance(code, int) else 0)


def complain(error: GossamerError) -> None:
    """Print an error as one line on standard error, as JSON with --json."""
    if "--json" in sys.argv:
        code = error.code if isinstance(error, UserError) else "failed"
        hint = error.hint if isinstance(error, UserError) else ""
        message = error.message if isinstance(error, UserError) else str(error)
        error_json = {"code": code, "message": as_called(message), "hint": as_called(hint)}
        typer.echo(formatting.json_text({"error": error_json}), err=True)
    else:
        typer.echo(f"Error: {as_called(' '.join(str(error).split()))}", err=True)


# Errors for missing parameters, by the command's last word and the parameter's name.
_MISSING: Mapping[tuple[str, str], tuple[str, str]] = {
    ("run", "name"): ("The job needs a name, so that you find it again.", 'Add one, such as --name "Acme Q1".'),
    ("rename", "name"): (
        "The new name is missing.",
        "Add it after the job: 'gossamer job rename last \"Acme Q2\"'.",
    ),
    ("login", "url"): (
        "Which server is meant?",
        "Give its address: 'gossamer login https://crawl.example.com'.",
    ),
    ("explain", "url"): ("Which address is meant?", "Give it: 'gossamer explain https://example.com/about'."),
}
_EXPECTED = {
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_parsing": "a number",
    "greater_than_equal": "a number",
    "less_than_equal": "a number",
}


def usage_error(error: Any, message: str) -> UserError:
    """Convert an error of the command line library to a sentence and a next step."""
    path = str(getattr(getattr(error, "ctx", None), "command_path", "gossamer"))
    hint = f"See '{path} --help'."
    param = getattr(error, "param", None)
    if type(error).__name__ == "MissingParameter" and param is not None:
        said = _missing(path, param)
        if said:
            return UserError("usage", said[0], hint=said[1])
    value = _value(error, param) if param is not None else ""
    return UserError("usage", value or _sentence(error, message), hint=hint)


def _missing(path: str, param: Any) -> tuple[str, str] | None:
    command = path.split()[-1]
    if said := _MISSING.get((command, str(param.name))):
        return said
    if param.metavar == "ID" and str(param.name) == "job":
        here = " ".join(["gossamer", *path.split()[-2:]])
        return "Which job is meant?", f"Give its id, or '{here} last' for the newest: 'gossamer job list' shows all."
    return None


def _value(error: Any, param: Any) -> str:
    """`--top-pages is 'abc', expected a whole number from 1 to 50,000` for a refused value; otherwise empty."""
    details = getattr(error.__cause__, "errors", None)
    if details is None:
        return ""
    wrong = details()[0]
    given = wrong.get("input")
    name = max(param.opts, key=len) if param.param_type_name == "option" else str(param.metavar or param.name.upper())
    kind = _EXPECTED.get(str(wrong["type"]))
    if kind is None or not isinstance(given, str):
        said = str(wrong["msg"]).removeprefix("Value error, ").rstrip(".")
        return f"{name}: {said}."
    whole = getattr(param.type_descriptor, "annotation", None)
    kind = "a whole number" if whole is int or str(whole).startswith("int") else kind
    return f"{name} is {given!r}, expected {kind}{_range(param.min, param.max)}."


def _range(least: float | None, most: float | None) -> str:
    if least is not None and most is not None:
        return f" from {least:,.0f} to {most:,.0f}"
    if least is not None:
        return f" of {least:,.0f} or more"
    return f" of {most:,.0f} or less" if most is not None else ""


def _sentence(error: Exception, message: str) -> str:
    possible = getattr(error, "possibilities", None)
    if possible:
        return f"{message.rstrip('.')}. Did you mean {' or '.join(possible)}?"
    format_message = getattr(error, "format_message", None)
    text = str(format_message()) if format_message else message
    text = text.replace(" requires an argument", " needs a value")
    return text if text.endswith((".", "?", "!")) else f"{text}."
