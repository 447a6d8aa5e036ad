"""`gossamer webhook`: webhooks and the messages sent to them."""

from typing import TYPE_CHECKING

import typer

from gossamer.cli.command import command
from gossamer.cli.group import lazy_module
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
    url: str = typer.Argument(help="Address that messages are sent to, by POST.", metavar="URL"),
    events: str = typer.Option(
        "",
        "--events",
        help="Events to send, separated by commas (default: all but job.pages).",
        metavar="NAME,NAME,...",
    ),
    as_json: bool = JSON,
) -> None:
    """Add a webhook. Its secret is shown only once.

    Examples:

        gossamer webhook add https://example.com/hooks

        gossamer webhook add https://example.com/hooks --events job.completed,job.failed,export.ready
    """
    runtime.run(lambda home: webhooks.add_endpoint(home, url, events, as_json=as_json))


@command("webhook list")
def list_endpoints(as_json: bool = JSON) -> None:
    """List webhooks, and whether they work.

    Example:

        gossamer webhook list
    """
    runtime.run(lambda home: webhooks.show_endpoints(home, as_json=as_json))


@command("webhook test")
def try_endpoint(endpoint: str = ENDPOINT, as_json: bool = JSON) -> None:
    """Send a test message now, and show the response.

    Example:

        gossamer webhook test 3f9a2c71
    """
    runtime.run(lambda home: webhooks.send_test(home, endpoint, as_json=as_json))


@command("webhook deliveries")
def deliveries(
    endpoint: str = typer.Argument("", help="Only messages to this webhook.", metavar="[ID]"),
    state: str = typer.Option("", "--state", help="Only messages in this state.", metavar="pending|delivered|failed"),
    limit: int = typer.Option(20, min=1, max=1_000, help="Most messages to show, newest first."),
    as_json: bool = JSON,
) -> None:
    """List the messages of the last 30 days and the responses.

    Examples:

        gossamer webhook deliveries

        gossamer webhook deliveries 3f9a2c71 --state failed
    """
    runtime.run(lambda home: webhooks.show_deliveries(home, endpoint, state, limit, as_json=as_json))


@command("webhook replay")
def replay(
    delivery: str = typer.Argument(
        "", help="The message's id, as 'gossamer webhook deliveries' shows it.", metavar="[MESSAGE]"
    ),
    failed: str = typer.Option("", "--failed", help="Resend all failed messages to this webhook.", metavar="ID"),
    as_json: bool = JSON,
) -> None:
    """Send a message again under the same id, even if it was delivered.

    Examples:

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
    """Send the messages that are due. Running jobs and servers send them too; use this when none runs.

    Example:

        gossamer webhook send
    """
    runtime.run(lambda home: webhooks.send_due(home, as_json=as_json))


@command("webhook rotate")
def rotate(
    endpoint: str = ENDPOINT,
    overlap: str = typer.Option("24h", "--overlap", help="How long the current secret stays valid.", metavar="TIME"),
    as_json: bool = JSON,
) -> None:
    """Replace a webhook's secret. For a while messages are signed with both.

    Example:

        gossamer webhook rotate 3f9a2c71 --overlap 2d
    """
    runtime.run(lambda home: webhooks.rotate_secret(home, endpoint, overlap, as_json=as_json))


@command("webhook enable")
def enable(endpoint: str = ENDPOINT, as_json: bool = JSON) -> None:
    """Enable a webhook again.

    Example:

        gossamer webhook enable 3f9a2c71
    """
    runtime.run(lambda home: webhooks.switch(home, endpoint, on=True, as_json=as_json))


@command("webhook disable")
def disable(endpoint: str = ENDPOINT, as_json: bool = JSON) -> None:
    """Disable a webhook. Events that happen meanwhile are not sent later.

    Example:

        gossamer webhook disable 3f9a2c71
    """
    runtime.run(lambda home: webhooks.switch(home, endpoint, on=False, as_json=as_json))


@command("webhook remove")
def remove(endpoint: str = ENDPOINT, as_json: bool = JSON) -> None:
    """Remove a webhook and the log of its messages.

    Example:

        gossamer webhook remove 3f9a2c71
    """
    runtime.run(lambda home: webhooks.remove_endpoint(home, endpoint, as_json=as_json))
