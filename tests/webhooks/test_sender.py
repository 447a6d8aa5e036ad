"""Messages arrive: signed, at least once, under one id, from one sender at a time, and nowhere they should not."""

import asyncio
import threading
from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from uuid import UUID

import pytest
from sqlalchemy import update
from standardwebhooks import WebhookVerificationError

from gossamer.db.tables import deliveries as delivery_rows
from gossamer.db.tables import endpoints as endpoint_rows
from gossamer.db.transactions import Tx
from gossamer.fetch.post import Poster
from gossamer.model.alert import AlertKind
from gossamer.model.money import ACCOUNT
from gossamer.model.states import JobState
from gossamer.model.webhook import Delivery, DeliveryState, EndpointState
from gossamer.store import alerts, jobs
from gossamer.webhooks import queries as webhook_queries
from gossamer.webhooks import service as webhook_service
from gossamer.webhooks.sender import Sender
from gossamer.webhooks.service import NewEndpoint
from tests.conftest import AnyDatabase
from tests.jobs import make_job
from tests.webhooks.conftest import SEALS, MakeSender
from tests.webhooks.listener import Listener

SOON = timedelta(seconds=10)


@pytest.fixture
async def made(database: AnyDatabase, poster: Poster, listener: Listener) -> NewEndpoint:
    return await webhook_service.add(database, poster, SEALS, ACCOUNT, listener.url())


async def the_only(database: AnyDatabase) -> Delivery:
    (one,) = await webhook_service.log(database, ACCOUNT)
    return one


def hurry(tx: Tx) -> None:
    """Whatever waits for its time is due, and nobody rests."""
    tx.run(update(delivery_rows).values(due_at=tx.now))
    tx.run(update(endpoint_rows).values(not_before=None))


async def test_a_job_is_told_from_its_beginning_to_its_end(
    database: AnyDatabase, sender: Sender, listener: Listener, made: NewEndpoint
) -> None:
    job = await database.write(make_job, "a.test")
    await database.write(jobs.move, job.id, JobState.PAUSING, "The disk is full.")
    await database.write(jobs.move, job.id, JobState.PAUSED)
    await database.write(jobs.move, job.id, JobState.RUNNING)
    await database.write(jobs.move, job.id, JobState.COMPLETED)
    assert await sender.send_due(SOON) == 4
    said = [one.verified(made.secret) for one in listener.received]
    assert [one["type"] for one in said] == ["job.started", "job.paused", "job.resumed", "job.completed"]
    assert {one["data"]["job_id"] for one in said} == {str(job.id)}
    assert said[1]["data"]["reason"] == "The disk is full."
    assert said[3]["data"]["sites"] == {"total": 1, "done": 0, "failed": 0, "partial": 0}
    assert said[0]["timestamp"].endswith("Z")
    assert len({one.id for one in listener.received}) == 4
    assert all("." not in one.id and len(one.body) < 2_000 for one in listener.received)
    assert listener.received[0].headers["content-type"] == "application/json"
    assert {one.state for one in await webhook_service.log(database, ACCOUNT)} == {DeliveryState.DELIVERED}
    assert await sender.send_due(SOON) == 0


async def test_a_message_that_failed_comes_again_under_the_same_id(
    database: AnyDatabase, sender: Sender, listener: Listener, made: NewEndpoint
) -> None:
    listener.answers = [(500, {}), (302, {"location": listener.url()})]
    await webhook_service.send_test(database, ACCOUNT, made.endpoint.id)
    assert await sender.send_due(SOON) == 1
    waiting = await the_only(database)
    assert (waiting.state, waiting.tries, waiting.attempts[0].status) == (DeliveryState.PENDING, 1, 500)
    assert waiting.due_at > waiting.queued_at + timedelta(seconds=4)
    assert await sender.send_due(SOON) == 0  # it rests
    await database.write(hurry)
    assert await sender.send_due(SOON) == 1
    assert len(listener.received) == 2  # nobody was led anywhere
    assert "redirects are not followed" in (await the_only(database)).attempts[1].error
    await database.write(hurry)
    assert await sender.send_due(SOON) == 1
    delivered = await the_only(database)
    assert (delivered.state, [one.status for one in delivered.attempts]) == (DeliveryState.DELIVERED, [500, 302, 204])
    assert {one.id for one in listener.received} == {delivered.message_id}
    assert listener.types(made.secret) == ["webhook.test"] * 3
    endpoint = await webhook_service.get(database, ACCOUNT, made.endpoint.id)
    assert (endpoint.failures, endpoint.failing_since) == (0, None)


async def test_an_endpoint_that_fails_keeps_its_other_messages_waiting_and_nobody_elses(
    database: AnyDatabase, sender: Sender, poster: Poster, listener: Listener, made: NewEndpoint
) -> None:
    listener.answers = [(503, {"retry-after": "60"})]
    for _ in range(3):
        await webhook_service.send_test(database, ACCOUNT, made.endpoint.id)
    assert await sender.send_due(SOON) == 1
    endpoint = await webhook_service.get(database, ACCOUNT, made.endpoint.id)
    assert endpoint.failing_since
    assert endpoint.not_before
    assert endpoint.not_before - endpoint.failing_since > timedelta(seconds=55)
    other = await webhook_service.add(database, poster, SEALS, ACCOUNT, listener.url())
    await webhook_service.send_test(database, ACCOUNT, other.endpoint.id)
    assert await sender.send_due(SOON) == 1  # wakes nobody else
    assert listener.received[-1].verified(other.secret)["data"]["endpoint_id"] == str(other.endpoint.id)


async def test_two_senders_do_not_send_one_message_at_the_same_moment(
    database: AnyDatabase, make_sender: MakeSender, listener: Listener, made: NewEndpoint
) -> None:
    held = threading.Event()

    def slowly(handler: BaseHTTPRequestHandler) -> None:
        held.wait(5)
        handler.send_response(200)
        handler.end_headers()

    listener.answers = [slowly]
    await webhook_service.send_test(database, ACCOUNT, made.endpoint.id)
    first = asyncio.create_task(make_sender("test/1").send_to(made.endpoint.id))
    await asyncio.to_thread(listener.until, 1)
    assert await make_sender("test/2").send_to(made.endpoint.id) == 0
    assert await make_sender("test/2").send_due(SOON) == 0
    held.set()
    assert await first == 1
    assert len(listener.received) == 1
    assert (await the_only(database)).state is DeliveryState.DELIVERED


async def test_what_a_dead_sender_left_is_sent_by_the_next_under_the_same_id(
    database: AnyDatabase, make_sender: MakeSender, listener: Listener, made: NewEndpoint
) -> None:
    message = await webhook_service.send_test(database, ACCOUNT, made.endpoint.id)
    gone = UUID(int=7)
    assert await database.write(
        webhook_queries.hold_endpoint, made.endpoint.id, gone, "home/runner-1", timedelta(minutes=5)
    )
    assert await make_sender().send_due(SOON) == 0
    # Five minutes later.
    assert await database.write(webhook_queries.keep_endpoint, made.endpoint.id, gone, timedelta(seconds=-1), {})
    assert await make_sender().send_due(SOON) == 1
    assert listener.received[0].id == message.message_id
    # One that was only slow finds out that it is no longer its own.
    assert not await database.write(webhook_queries.keep_endpoint, made.endpoint.id, gone, timedelta(seconds=1), {})


async def test_a_home_that_is_worked_anew_need_not_wait_for_its_former_lease(
    database: AnyDatabase, sender: Sender, made: NewEndpoint
) -> None:
    await webhook_service.send_test(database, ACCOUNT, made.endpoint.id)
    long = timedelta(hours=1)
    assert await database.write(webhook_queries.hold_endpoint, made.endpoint.id, UUID(int=7), "home/runner-1", long)
    await database.write(webhook_queries.void_leases, "other/runner-")
    assert await sender.send_due(SOON) == 0
    await database.write(webhook_queries.void_leases, "home/runner-")
    assert await sender.send_due(SOON) == 1


async def test_one_that_never_answers_is_left_after_the_time_limit(
    database: AnyDatabase, sender: Sender, listener: Listener, made: NewEndpoint
) -> None:
    ended = threading.Event()

    def never(_: BaseHTTPRequestHandler) -> None:
        ended.wait(10)

    listener.answers = [never]
    await webhook_service.send_test(database, ACCOUNT, made.endpoint.id)
    assert await sender.send_due(SOON) == 1
    ended.set()
    (tried,) = (await the_only(database)).attempts
    assert tried.status is None
    assert tried.error == "Timeout after 1s"


async def test_of_an_endless_answer_only_the_head_is_read(
    database: AnyDatabase, sender: Sender, listener: Listener, made: NewEndpoint
) -> None:
    sent = 0

    def endless(handler: BaseHTTPRequestHandler) -> None:
        nonlocal sent
        handler.send_response(200)
        handler.end_headers()
        try:
            while sent < 100_000_000:
                sent += handler.wfile.write(b"x" * 100_000)
        except OSError:
            return

    listener.answers = [endless]
    await webhook_service.send_test(database, ACCOUNT, made.endpoint.id)
    assert await sender.send_due(SOON) == 1
    assert (await the_only(database)).state is DeliveryState.DELIVERED
    assert sent < 100_000_000


async def test_after_long_failure_it_is_switched_off_and_somebody_is_told(
    database: AnyDatabase, sender: Sender, listener: Listener, made: NewEndpoint
) -> None:
    listener.answers = [(500, {})]
    for _ in range(2):
        await webhook_service.send_test(database, ACCOUNT, made.endpoint.id)
    await database.write(_fail_for_days, made.endpoint.id)
    assert await sender.send_due(SOON) == 1
    endpoint = await webhook_service.get(database, ACCOUNT, made.endpoint.id)
    assert endpoint.state is EndpointState.OFF
    assert "HTTP 500" in endpoint.reason
    assert {one.state for one in await webhook_service.log(database, ACCOUNT)} == {DeliveryState.FAILED}
    (alert,) = await database.read(alerts.recent, 10)
    assert alert.kind is AlertKind.WEBHOOK
    assert "hooks.test" in alert.sentence
    # Nothing is kept for it meanwhile, and what was given up can be had once it is mended.
    await database.write(make_job, "a.test")
    assert len(await webhook_service.log(database, ACCOUNT)) == 2
    await webhook_service.enable(database, ACCOUNT, endpoint.id)
    assert await database.read(alerts.recent, 10) == []
    assert await sender.send_due(SOON) == 0
    assert await webhook_service.replay_failed(database, ACCOUNT, endpoint.id) == 2
    assert await sender.send_due(SOON) == 2
    assert len({one.id for one in listener.received}) == 2


def _fail_for_days(tx: Tx, endpoint_id: UUID) -> None:
    since = tx.now - timedelta(days=4)
    tx.run(update(endpoint_rows).where(endpoint_rows.c.id == endpoint_id).values(failing_since=since, failures=30))
    tx.run(update(delivery_rows).values(tries=7, queued_at=tx.now - timedelta(hours=24)))


async def test_gone_switches_it_off_at_once(
    database: AnyDatabase, sender: Sender, listener: Listener, made: NewEndpoint
) -> None:
    listener.answers = [(410, {})]
    await webhook_service.send_test(database, ACCOUNT, made.endpoint.id)
    await sender.send_due(SOON)
    endpoint = await webhook_service.get(database, ACCOUNT, made.endpoint.id)
    assert endpoint.state is EndpointState.OFF
    assert "410" in endpoint.reason


async def test_while_a_secret_is_replaced_both_are_valid(
    database: AnyDatabase, sender: Sender, listener: Listener, made: NewEndpoint
) -> None:
    new = await webhook_service.rotate(database, SEALS, ACCOUNT, made.endpoint.id)
    await webhook_service.send_test(database, ACCOUNT, made.endpoint.id)
    await sender.send_due(SOON)
    for secret in (made.secret, new):
        assert listener.received[0].verified(secret)["type"] == "webhook.test"
    newest = await webhook_service.rotate(database, SEALS, ACCOUNT, made.endpoint.id, timedelta())
    await webhook_service.send_test(database, ACCOUNT, made.endpoint.id)
    await sender.send_due(SOON)
    assert listener.received[1].verified(newest)
    for secret in (made.secret, new):
        with pytest.raises(WebhookVerificationError):
            listener.received[1].verified(secret)


async def test_a_replayed_message_is_the_same_message(
    database: AnyDatabase, sender: Sender, listener: Listener, made: NewEndpoint
) -> None:
    message = await webhook_service.send_test(database, ACCOUNT, made.endpoint.id)
    await sender.send_due(SOON)
    await webhook_service.replay(database, ACCOUNT, message.id)
    assert await sender.send_due(SOON) == 1
    first, second = listener.received
    assert (first.id, first.body) == (second.id, second.body)
    assert len((await webhook_service.delivery(database, ACCOUNT, message.id)).attempts) == 2


async def test_the_loop_sends_what_is_written_while_it_runs(
    database: AnyDatabase, sender: Sender, listener: Listener, made: NewEndpoint
) -> None:
    running = asyncio.create_task(sender.run())
    await webhook_service.send_test(database, ACCOUNT, made.endpoint.id)
    await asyncio.to_thread(listener.until, 1)
    while (await the_only(database)).state is not DeliveryState.DELIVERED:
        await asyncio.sleep(0.02)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    # It lets go of the endpoint long before its lease runs out.
    async with asyncio.timeout(10):
        while not await database.write(webhook_queries.hold_endpoint, made.endpoint.id, UUID(int=9), "test/2", SOON):
            await asyncio.sleep(0.02)


async def test_what_is_old_goes_from_the_log(database: AnyDatabase, sender: Sender, made: NewEndpoint) -> None:
    await webhook_service.send_test(database, ACCOUNT, made.endpoint.id)
    await sender.send_due(SOON)
    waiting = await webhook_service.send_test(database, ACCOUNT, made.endpoint.id)
    await database.write(_make_old)
    assert await database.write(webhook_queries.forget_old_deliveries, timedelta(days=30)) == 1
    assert [one.id for one in await webhook_service.log(database, ACCOUNT)] == [waiting.id]


def _make_old(tx: Tx) -> None:
    tx.run(update(delivery_rows).values(queued_at=tx.now - timedelta(days=31)))
