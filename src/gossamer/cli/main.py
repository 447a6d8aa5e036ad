"""Where every command begins and every error ends: one line, the next step, an exit code."""

import gc
import os
import sys

import typer

from gossamer import __version__
from gossamer.cli.command_help import NAMES, CommandGroup, as_called
from gossamer.errors import GossamerError, UserError
from gossamer.plugins import load_plugins

BAD_INPUT = 2
FAILED = 1

_COMPLETED = {f"_{name.replace('-', '_').upper()}_COMPLETE" for name in NAMES}
"""Variables by which a shell asks for completions."""

# About a machine, not about jobs: a server does not do these for others.
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
    local: bool = typer.Option(False, "--local", help="About this machine, also if you are logged in to a server."),
) -> None:
    """Visits web sites politely and cheaply and turns them into tables people can use."""
    if local:
        os.environ["GOSSAMER_REMOTE"] = "local"
    elif context.invoked_subcommand in _LOCAL_ONLY and not {"-h", "--help"} & set(sys.argv):
        from gossamer.cli.servers import refuse_logged_in

        refuse_logged_in(context.invoked_subcommand)


def register() -> None:
    """Hang the groups of commands below the program."""
    from gossamer.cli import (
        accounts,
        completion,
        database,
        doctor,
        explain,
        jobs,
        login,
        scrape,
        serve,
        system,
        webhooks,
        worker,
    )

    app.add_typer(jobs.app, name="job")
    app.add_typer(scrape.app)
    app.add_typer(explain.app)
    app.add_typer(database.app, name="db")
    app.add_typer(system.app, name="system")
    app.add_typer(webhooks.app, name="webhook")
    app.add_typer(worker.app)
    app.add_typer(serve.app)
    app.add_typer(accounts.app, name="account")
    app.add_typer(doctor.app)
    app.add_typer(login.app)
    app.add_typer(completion.app)


def main() -> None:
    if _COMPLETED & os.environ.keys():
        # A shell asks what may follow what was typed so far, and would show errors in the middle of that.
        from typer.completion import completion_init  # type: ignore[attr-defined] # not in its list of names

        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115 - until the end
        completion_init()
    # Nothing that is loaded is garbage, and looking for some takes a sixth of a short command's time.
    gc.set_threshold(50_000)
    try:
        load_plugins()
        register()
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
        # Whoever read our output has seen enough. Python would complain once more when it flushes at exit.
        sys.stdout = None
        sys.exit(0)
    except Exception as error:
        # Typer's own exceptions share no public base; what they have in common is that they know their exit code.
        if not hasattr(error, "exit_code"):
            raise
        message = getattr(error, "message", "") or str(error)
        if type(error).__name__ == "NoArgsIsHelpError":
            typer.echo(message)
        elif message or type(error).__name__ == "MissingParameter":
            from gossamer.cli.usage_words import usage_error

            complain(usage_error(error, message))
        sys.exit(error.exit_code)
    sys.exit(code if isinstance(code, int) else 0)


def complain(error: GossamerError) -> None:
    """One line on the error stream, as JSON for scripts that asked for it."""
    if "--json" in sys.argv:
        from gossamer.cli import words

        code = error.code if isinstance(error, UserError) else "failed"
        hint = error.hint if isinstance(error, UserError) else ""
        message = error.message if isinstance(error, UserError) else str(error)
        told = {"code": code, "message": as_called(message), "hint": as_called(hint)}
        typer.echo(words.json_text({"error": told}), err=True)
    else:
        typer.echo(f"Error: {as_called(' '.join(str(error).split()))}", err=True)
