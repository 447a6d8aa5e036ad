"""`gossamer system alerts`: what wants a person's attention."""

from typing import TYPE_CHECKING

import typer

from gossamer.cli.command_help import StrictCommand, command_group
from gossamer.cli.views import JSON

if TYPE_CHECKING:
    from gossamer.cli.home import Home
    from gossamer.model.alert import Alert

app = command_group(no_args_is_help=True)


@app.command("alerts", cls=StrictCommand)
def show_alerts(
    cleared: bool = typer.Option(False, "--all", help="Also those that are over."),
    limit: int = typer.Option(50, min=1, max=10_000, help="Newest first, at most this many."),
    as_json: bool = JSON,
) -> None:
    """What the program wants a person to know, each thing once, until it is over.

    Example:

    \b
        gossamer system alerts
    """
    from gossamer.cli.session import run as run_command

    run_command(lambda home: _show(home, limit, cleared=cleared, as_json=as_json))


async def _show(home: "Home", limit: int, *, cleared: bool, as_json: bool) -> int:
    from gossamer.cli import words
    from gossamer.cli.session import say, say_json
    from gossamer.questions.system import alerts

    found = await home.ask(alerts, limit, cleared=cleared)
    if as_json:
        say_json([_as_json(alert) for alert in found])
    elif not found:
        say("No alerts." if cleared else "No alerts. Those that are over: 'gossamer system alerts --all'.")
    for alert in [] if as_json else found:
        over = f", over since {words.moment(alert.cleared_at)[:19]}" if alert.cleared_at else ""
        say(f"{words.moment(alert.fired_at)[:19]} {alert.kind}{over}: {alert.sentence}")
        if step := next_step(alert):
            say(f"  {step}")
    return 0


_NEXT = {
    "errors": "Which requests failed, and why: 'gossamer job errors ID'. If many sites fail at once, check the "
    "network of this machine: 'gossamer doctor'.",
    "throughput": "How it goes: 'gossamer job status ID'.",
    "audit": "What does not add up: 'gossamer job audit ID'.",
    "dead-letter": "Look at them: 'gossamer system dead-letters list'.",
}


def next_step(alert: "Alert") -> str:
    """What to look at next; nothing where the sentence of the alert says it already."""
    from gossamer.model.ids import short

    return _NEXT.get(alert.kind, "").replace(" ID'", f" {short(alert.job_id) if alert.job_id else 'last'}'")


def _as_json(alert: "Alert") -> dict[str, object]:
    from gossamer.cli import words

    return {
        "id": str(alert.id),
        "kind": str(alert.kind),
        "job": str(alert.job_id) if alert.job_id else None,
        "sentence": alert.sentence,
        "next_step": next_step(alert),
        "since": words.stamp(alert.fired_at),
        "over": words.stamp(alert.cleared_at),
    }
