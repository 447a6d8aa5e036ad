"""What signs for webhooks lies in the database sealed, and signs all the same."""

from base64 import b64decode
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text, update

from gossamer.accounts.sealing import Sealer
from gossamer.db.tables import endpoint_keys
from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.fetch.post import Poster
from gossamer.model.money import ACCOUNT
from gossamer.model.webhook import DeliveryState
from gossamer.webhooks import service as webhook_service
from gossamer.webhooks.sender import UNREADABLE, Sender
from gossamer.webhooks.service import NewEndpoint
from gossamer.webhooks.signing import KeySeals
from tests.conftest import AnyDatabase
from tests.webhooks.conftest import SEALS, MakeSender
from tests.webhooks.listener import Listener
from tests.webhooks.test_sender import SOON, hurry

HOMES = Sealer(b"the secret that the home had made for itself")
OPERATORS = Sealer(b"the secret that its operator has set since")


@pytest.fixture
async def made(database: AnyDatabase, poster: Poster, listener: Listener) -> NewEndpoint:
    return await webhook_service.add(database, poster, SEALS, ACCOUNT, listener.url())


def cells(tx: Tx) -> list[Any]:
    """Everything that stands in any row about webhooks."""
    tables = ("webhook_endpoints", "webhook_keys", "webhook_deliveries", "webhook_pages")
    return [cell for name in tables for row in tx.run(text(f"SELECT * FROM {name}")) for cell in row]  # noqa: S608


async def holding(database: AnyDatabase, secret: str) -> list[Any]:
    """The cells in which a secret can be read, however it is spelled."""
    spelled = secret.removeprefix("whsec_")
    key = b64decode(spelled)
    spellings = (key, spelled.encode(), key.hex().encode())
    found = await database.read(cells)
    assert found
    as_bytes = [cell if isinstance(cell, bytes) else str(cell).encode() for cell in found]
    return [cell for cell in as_bytes if any(spelling in cell for spelling in spellings)]


async def sent(database: AnyDatabase, sender: Sender, made: NewEndpoint) -> str:
    """What became of a message."""
    message = await webhook_service.send_test(database, ACCOUNT, made.endpoint.id)
    assert await sender.send_due(SOON) == 1
    after = await webhook_service.delivery(database, ACCOUNT, message.id)
    return after.attempts[-1].error if after.state is not DeliveryState.DELIVERED else ""


async def test_no_row_holds_a_secret(
    database: AnyDatabase, sender: Sender, listener: Listener, made: NewEndpoint
) -> None:
    new = await webhook_service.rotate(database, SEALS, ACCOUNT, made.endpoint.id)
    assert await sent(database, sender, made) == ""
    for secret in (made.secret, new):
        assert listener.received[0].verified(secret)["type"] == "webhook.test"
        assert await holding(database, secret) == []


async def test_what_other_workers_could_not_read_is_not_sealed(
    database: AnyDatabase, make_sender: MakeSender, poster: Poster, listener: Listener
) -> None:
    made = await webhook_service.add(database, poster, KeySeals(HOMES), ACCOUNT, listener.url())
    as_sealed = await database.read(cells)
    alone = KeySeals(OPERATORS, HOMES, is_known_to_all=False)
    for attempt in (
        webhook_service.add(database, poster, alone, ACCOUNT, listener.url()),
        webhook_service.rotate(database, alone, ACCOUNT, made.endpoint.id),
    ):
        with pytest.raises(UserError) as caught:
            await attempt
        assert (caught.value.code, "GOSSAMER_API_SECRET" in caught.value.hint) == ("webhook.no_secret", True)
    sender = make_sender(seals=alone)
    await sender.renew_seals()
    assert await database.read(cells) == as_sealed
    assert await sent(database, sender, made) == ""
    assert listener.types(made.secret) == ["webhook.test"]
    assert len(await webhook_service.everything(database, ACCOUNT)) == 1


async def test_an_operator_who_sets_a_secret_later_loses_no_webhook(
    database: AnyDatabase, make_sender: MakeSender, poster: Poster, listener: Listener
) -> None:
    made = await webhook_service.add(database, poster, KeySeals(HOMES), ACCOUNT, listener.url())
    here = make_sender(seals=KeySeals(OPERATORS, HOMES))
    elsewhere = make_sender(seals=KeySeals(OPERATORS, Sealer(b"the secret of another home")))
    assert await sent(database, elsewhere, made) == UNREADABLE
    await database.write(hurry)
    await here.renew_seals()
    assert await elsewhere.send_due(SOON) == 1
    assert await sent(database, here, made) == ""
    assert listener.types(made.secret) == ["webhook.test"] * 2


async def test_nothing_is_sent_unsigned_and_a_new_secret_mends_it(
    database: AnyDatabase, make_sender: MakeSender, listener: Listener, made: NewEndpoint
) -> None:
    other = KeySeals(Sealer(b"of a machine that was given another secret"))
    sender = make_sender(seals=other)
    await sender.renew_seals()
    assert await sent(database, sender, made) == UNREADABLE
    assert listener.received == []
    new = await webhook_service.rotate(database, other, ACCOUNT, made.endpoint.id, timedelta(hours=1))
    await database.write(hurry)
    assert await sender.send_due(SOON) == 1
    assert listener.types(new) == ["webhook.test"]


async def test_a_sealed_secret_signs_for_its_own_webhook_only(
    database: AnyDatabase, sender: Sender, poster: Poster, listener: Listener, made: NewEndpoint
) -> None:
    other = await webhook_service.add(database, poster, SEALS, ACCOUNT, listener.url())
    of = endpoint_keys.c.endpoint_id

    def swap(tx: Tx) -> None:
        kept = {row.endpoint_id: row.key for row in tx.run(endpoint_keys.select())}
        tx.run(update(endpoint_keys).where(of == other.endpoint.id).values(key=kept[made.endpoint.id]))

    await database.write(swap)
    assert await sent(database, sender, other) == UNREADABLE
    assert await sent(database, sender, made) == ""
