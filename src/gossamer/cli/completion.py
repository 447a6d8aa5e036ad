"""`gossamer completion`: a script that teaches the shell to complete commands, options and values."""

import sys
from pathlib import Path

import typer

from gossamer.cli.command_help import StrictCommand, command_group
from gossamer.cli.values import SHELLS
from gossamer.errors import UserError

app = command_group()


@app.command(cls=StrictCommand)
def completion(
    shell: str = typer.Argument(..., metavar="SHELL", help="bash, zsh or fish.", show_default=False),
) -> None:
    """Print a script that completes commands, options, choices and jobs in your shell.

    Examples:

        source <(gossamer completion bash)

        gossamer completion bash > ~/.local/share/bash-completion/completions/gossamer

        gossamer completion zsh > ~/.zfunc/_gossamer

        gossamer completion fish > ~/.config/fish/completions/gossamer.fish

    It is for the name under which the program was called: 'backlink-prospector completion bash' is for that name.
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined] # not in its list of names

    if shell not in SHELLS:
        raise UserError("usage.shell", f"There is no completion for {shell!r}.", hint=f"Choose {', '.join(SHELLS)}.")
    name = Path(sys.argv[0]).name
    name = name if name in ("gossamer", "backlink-prospector") else "gossamer"
    variable = f"_{name.replace('-', '_').upper()}_COMPLETE"
    typer.echo(get_completion_script(prog_name=name, complete_var=variable, shell=shell))
