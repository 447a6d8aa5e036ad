"""`gossamer webhook`: who is told what happens to jobs, and what was sent to them."""

from typing import TYPE_CHECKING

import typer

from gossamer.cli.command import command
from gossamer.cli.lazy import lazy_module
from gossamer.cli.options import JSON
from gossamer.errors import UserError

if TYPE_CHECKING:
    from gossamer.cli import runtime, webhooks
else:
    runtime = lazy_module("gossamer.cli.runtime")
    webhooks = lazy_module("gossamer.cli.webhooks")

ENDPOINT = typer.Argument(help="The webhook's id, as 'gossamer webhook list' shows it.", metavar="ID")


@command("webhook add")
def add(
    url: str = typer.Argument(help="Where messages are sent, by POST.", metavar="URL"),
    events: str = typer.Option(
        "", "--events", help="Only these, separated by commas; all but job.pages if not given.", metavar="NAME,NAME,..."
    ),
    as_json: bool = JSON,
) -> None:
    """Add a webhook. Its secret is shown now and never again.

    Examples:

    \b
        gossamer webhook add https://example.com/hooks

        gossamer webhook add https://example.com/hooks --events job.completed,job.failed,export.ready
    """
    runtime.run(lambda home: webhooks.add_endpoint(home, url, events, as_json=as_json))


@command("webhook list")
def list_endpoints(as_json: bool = JSON) -> None:
    """The webhooks there are, and how they do.

    Example:

    \b
        gossamer webhook list
    """
    runtime.run(lambda home: webhooks.show_endpoints(home, as_json=as_json))


@command("webhook test")
def try_endpoint(endpoint: str = ENDPOINT, as_json: bool = JSON) -> None:
    """Send a test message now, and say what came back.

    Example:

    \b
        gossamer webhook test 3f9a2c71
    """
    runtime.run(lambda home: webhooks.send_test(home, endpoint, as_json=as_json))


@command("webhook deliveries")
def deliveries(
    endpoint: str = typer.Argument("", help="Only those of this webhook.", metavar="[ID]", show_default=False),
    state: str = typer.Option("", "--state", help="Only such.", metavar="pending|delivered|failed"),
    limit: int = typer.Option(20, min=1, max=1_000, help="Newest first, at most this many."),
    as_json: bool = JSON,
) -> None:
    """What was sent and what came of it, for 30 days.

    Examples:

    \b
        gossamer webhook deliveries

        gossamer webhook deliveries 3f9a2c71 --state failed
    """
    runtime.run(lambda home: webhooks.show_deliveries(home, endpoint, state, limit, as_json=as_json))


@command("webhook replay")
def replay(
    delivery: str = typer.Argument(
        "", help="The message's id, as 'gossamer webhook deliveries' shows it.", metavar="[MESSAGE]", show_default=False
    ),
    failed: str = typer.Option(
        "", "--failed", help="All messages to this webhook that were given up.", metavar="ID", show_default=False
    ),
    as_json: bool = JSON,
) -> None:
    """Send a message once more, under the same id, whatever became of it.

    Examples:

    \b
        gossamer webhook replay 81e0b6d4

        gossamer webhook replay --failed 3f9a2c71
    """
    if bool(delivery) == bool(failed):
        raise UserError(
            "usage", "Give one message, or a webhook with --failed.", hint="See 'gossamer webhook replay --help'."
        )
    work = webhooks.replay_failed if failed else webhooks.replay_one
    runtime.run(lambda home: work(home, failed or delivery, as_json=as_json))


@command("webhook send")
def send(as_json: bool = JSON) -> None:
    """Send now what is due. Whoever works a job does this all the time; without one, this command does.

    Example:

    \b
        gossamer webhook send
    """
    runtime.run(lambda home: webhooks.send_due(home, as_json=as_json))


@command("webhook rotate")
def rotate(
    endpoint: str = ENDPOINT,
    overlap: str = typer.Option("24h", "--overlap", help="How long the present secret stays valid.", metavar="TIME"),
    as_json: bool = JSON,
) -> None:
    """Give a webhook a new secret. For a while messages are signed with both.

    Example:

    \b
        gossamer webhook rotate 3f9a2c71 --overlap 2d
    """
    runtime.run(lambda home: webhooks.rotate_secret(home, endpoint, overlap, as_json=as_json))


@command("webhook enable")
def enable(endpoint: str = ENDPOINT, as_json: bool = JSON) -> None:
    """Switch a webhook on again.

    Example:

    \b
        gossamer webhook enable 3f9a2c71
    """
    runtime.run(lambda home: webhooks.switch(home, endpoint, on=True, as_json=as_json))


@command("webhook disable")
def disable(endpoint: str = ENDPOINT, as_json: bool = JSON) -> None:
    """Switch a webhook off. What happens meanwhile is not kept for it.

    Example:

    \b
        gossamer webhook disable 3f9a2c71
    """
    runtime.run(lambda home: webhooks.switch(home, endpoint, on=False, as_json=as_json))


@command("webhook remove")
def remove(endpoint: str = ENDPOINT, as_json: bool = JSON) -> None:
    """Remove a webhook, with the log of what was sent to it.

    Example:

    \b
        gossamer webhook remove 3f9a2c71
    """
    runtime.run(lambda home: webhooks.remove_endpoint(home, endpoint, as_json=as_json))
