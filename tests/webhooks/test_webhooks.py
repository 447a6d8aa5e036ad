"""The door: endpoints come and go, each account sees its own, and what cannot be is said in a sentence."""

from datetime import timedelta
from uuid import UUID

import pytest

from gossamer.errors import UserError
from gossamer.model.ids import short
from gossamer.model.money import ACCOUNT
from gossamer.model.webhook import DeliveryState, EndpointState, EventType
from gossamer.webhooks import queries as webhook_queries
from gossamer.webhooks import service as webhook_service
from tests.conftest import AnyDatabase
from tests.webhooks.conftest import SEALS


class Anywhere:
    """Everything may be sent to."""

    async def refusal(self, url: str) -> str:
        return ""


URL = "https://example.com/hooks"


async def test_an_endpoint_from_its_beginning_to_its_end(database: AnyDatabase) -> None:
    made = await webhook_service.add(database, Anywhere(), SEALS, ACCOUNT, URL, {EventType.JOB_FAILED})
    assert made.secret.startswith("whsec_")
    assert made.secret not in repr(made)
    (known,) = await webhook_service.everything(database, ACCOUNT)
    assert (known, known.events) == (made.endpoint, frozenset({EventType.JOB_FAILED}))
    changed = await webhook_service.change(database, Anywhere(), ACCOUNT, known.id, url=f"{URL}/2", events=())
    assert (changed.url, changed.events) == (f"{URL}/2", frozenset())
    off = await webhook_service.disable(database, ACCOUNT, known.id)
    assert (off.state, off.reason) == (EndpointState.OFF, "Switched off by hand.")
    assert (await webhook_service.enable(database, ACCOUNT, known.id)).state is EndpointState.ACTIVE
    await webhook_service.remove(database, ACCOUNT, known.id)
    assert await webhook_service.everything(database, ACCOUNT) == []
    with pytest.raises(UserError) as caught:
        await webhook_service.get(database, ACCOUNT, known.id)
    assert caught.value.code == "webhook.not_found"


async def test_removing_takes_its_log_and_its_secret_along(database: AnyDatabase) -> None:
    made = await webhook_service.add(database, Anywhere(), SEALS, ACCOUNT, URL)
    await webhook_service.send_test(database, ACCOUNT, made.endpoint.id)
    await webhook_service.remove(database, ACCOUNT, made.endpoint.id)
    assert await webhook_service.log(database, ACCOUNT) == []
    assert await database.read(webhook_queries.keys_of, made.endpoint.id) == ()


async def test_nobody_reaches_what_belongs_to_another_account(database: AnyDatabase) -> None:
    made = await webhook_service.add(database, Anywhere(), SEALS, "theirs", URL)
    identifier = made.endpoint.id
    message = await webhook_service.send_test(database, "theirs", identifier)
    assert await webhook_service.everything(database, "mine") == []
    assert await webhook_service.log(database, "mine") == []
    assert await webhook_service.log(database, "mine", identifier) == []
    for attempt in (
        webhook_service.get(database, "mine", identifier),
        webhook_service.change(database, Anywhere(), "mine", identifier, url="https://evil.example/", events=()),
        webhook_service.enable(database, "mine", identifier),
        webhook_service.disable(database, "mine", identifier),
        webhook_service.rotate(database, SEALS, "mine", identifier),
        webhook_service.send_test(database, "mine", identifier),
        webhook_service.replay_failed(database, "mine", identifier),
        webhook_service.remove(database, "mine", identifier),
    ):
        with pytest.raises(UserError) as caught:
            await attempt
        assert caught.value.code == "webhook.not_found"
    for attempt in (
        webhook_service.delivery(database, "mine", message.id),
        webhook_service.replay(database, "mine", message.id),
    ):
        with pytest.raises(UserError) as caught:
            await attempt
        assert caught.value.code == "webhook.no_delivery"
    assert await webhook_service.get(database, "theirs", identifier) == made.endpoint
    assert len(await database.read(webhook_queries.keys_of, identifier)) == 1


async def test_the_log_is_read_page_by_page(database: AnyDatabase) -> None:
    made = await webhook_service.add(database, Anywhere(), SEALS, ACCOUNT, URL)
    sent = [(await webhook_service.send_test(database, ACCOUNT, made.endpoint.id)).id for _ in range(5)]
    read: list[UUID] = []
    while page := await webhook_service.log(
        database, ACCOUNT, made.endpoint.id, before=read[-1] if read else None, limit=2
    ):
        read += [one.id for one in page]
    assert read == sent[::-1]
    assert await webhook_service.log(database, ACCOUNT, state=DeliveryState.FAILED) == []


async def test_what_is_off_is_not_sent_to(database: AnyDatabase) -> None:
    made = await webhook_service.add(database, Anywhere(), SEALS, ACCOUNT, URL)
    message = await webhook_service.send_test(database, ACCOUNT, made.endpoint.id)
    await webhook_service.disable(database, ACCOUNT, made.endpoint.id)
    assert (await webhook_service.delivery(database, ACCOUNT, message.id)).state is DeliveryState.FAILED
    for attempt in (
        webhook_service.send_test(database, ACCOUNT, made.endpoint.id),
        webhook_service.replay(database, ACCOUNT, message.id),
        webhook_service.replay_failed(database, ACCOUNT, made.endpoint.id),
    ):
        with pytest.raises(UserError) as caught:
            await attempt
        assert caught.value.code == "webhook.off"
        assert short(made.endpoint.id) in caught.value.hint


async def test_of_secrets_the_last_two_are_kept_at_most(database: AnyDatabase) -> None:
    made = await webhook_service.add(database, Anywhere(), SEALS, ACCOUNT, URL)
    spelled = [made.secret]
    spelled += [await webhook_service.rotate(database, SEALS, ACCOUNT, made.endpoint.id) for _ in range(3)]
    assert len(set(spelled)) == 4
    kept = [key.spelled for key in SEALS.opened(await database.read(webhook_queries.keys_of, made.endpoint.id))]
    assert kept == [spelled[3], spelled[2]]
    with pytest.raises(UserError, match="7 days"):
        await webhook_service.rotate(database, SEALS, ACCOUNT, made.endpoint.id, timedelta(days=8))
    # A transaction whose end was not heard of is made again: the one before stays valid all the same.
    sealed = SEALS.seal(b"k" * 32, made.endpoint.id)
    for _ in range(2):
        assert await database.write(webhook_queries.rotate_key, ACCOUNT, made.endpoint.id, sealed, timedelta(hours=1))
    kept = [key.spelled for key in SEALS.opened(await database.read(webhook_queries.keys_of, made.endpoint.id))]
    assert kept[1:] == [spelled[3]]


async def test_an_account_has_only_so_many(database: AnyDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook_service, "MOST", 2)
    for _ in range(2):
        await webhook_service.add(database, Anywhere(), SEALS, ACCOUNT, URL)
    with pytest.raises(UserError) as caught:
        await webhook_service.add(database, Anywhere(), SEALS, ACCOUNT, URL)
    assert caught.value.code == "webhook.too_many"
    await webhook_service.add(database, Anywhere(), SEALS, "another", URL)


def test_events_are_read_as_people_write_them() -> None:
    assert webhook_service.read_events(["job.completed", " Job.Failed "]) == {
        EventType.JOB_COMPLETED,
        EventType.JOB_FAILED,
    }
    assert webhook_service.read_events(["", " "]) == frozenset()
    for wrong in ("job.done", "webhook.test"):
        with pytest.raises(UserError) as caught:
            webhook_service.read_events([wrong])
        assert caught.value.code == "webhook.event"
        assert "job.completed" in caught.value.hint
