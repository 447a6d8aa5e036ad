"""Work that goes on after the command has returned."""

import os
import subprocess
import sys

from gossamer.assembly import App, log_path


def start_worker(app: App, *arguments: str) -> None:
    """A process in a session of its own, so that it survives this terminal. What it says goes into the log."""
    with log_path(app.settings).open("ab") as sink:
        subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-P", "-m", "gossamer.worker", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
            env={**os.environ, "GOSSAMER_HOME": str(app.settings.home)},
        )
