"""`gossamer job retry-failed`: once more what failed, and what was still open."""

from gossamer.cli.command_help import StrictCommand, command_group
from gossamer.cli.views import DETACH, JOB, JSON, PROCESSES

app = command_group()


@app.command("retry-failed", cls=StrictCommand)
def retry_failed(
    job: str = JOB, processes: int | None = PROCESSES, detach: bool = DETACH, as_json: bool = JSON
) -> None:
    """Try again what failed and may work by now. Nothing that was read is asked for again.

    A job that was paused, cancelled or failed also goes on with what was still open.

    Example:

    \b
        gossamer job retry-failed 3f9a2c71
    """
    from gossamer.cli.session import run as run_command
    from gossamer.cli.steer import retry_job

    run_command(lambda home: retry_job(home, job, processes=processes, detach=detach, as_json=as_json))
