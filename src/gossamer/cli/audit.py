"""`gossamer job audit`: the proof that nothing is missing."""

from datetime import datetime

from gossamer.cli.command_help import StrictCommand, command_group
from gossamer.cli.views import JOB, JSON
from gossamer.model.checkpoint import Checkpoint

app = command_group()


@app.command(cls=StrictCommand)
def audit(job: str = JOB, as_json: bool = JSON) -> None:
    """Prove from the rows that a job is whole: every page, domain and record accounted for, nothing double.

    Ends with exit code 1 if anything does not add up. The job may run meanwhile.

    Example:

    \b
        gossamer job audit 3f9a2c71
    """
    from gossamer.cli.audit_report import show_audit
    from gossamer.cli.session import run as run_command

    run_command(lambda home: show_audit(home, job, as_json=as_json))


def checkpoint_line(checkpoint: Checkpoint | None, now: datetime) -> str:
    """`Last checkpoint: 12:03:11, 2,400 of 5,000 domains; ...`, with its day if that was another one."""
    if checkpoint is None:
        return "Last checkpoint: none yet"
    at, today = checkpoint.at.astimezone(), now.astimezone().date()
    when = at.strftime("%H:%M:%S") if at.date() == today else at.strftime("%Y-%m-%d %H:%M:%S")
    done = f"{checkpoint.sites_finished:,} of {checkpoint.sites_total:,} domains"
    return f"Last checkpoint: {when}, {done}; nothing since then is lost either"
