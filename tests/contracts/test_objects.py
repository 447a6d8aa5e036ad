"""Object storage keeps the contract of blobs: against a real server that checks signatures and their time."""

import asyncio
import socket
import urllib.error
import urllib.request
from datetime import timedelta
from itertools import count

import pytest

from gossamer.blobs import Blobs, BlobsAway
from gossamer.blobs.objects import PART, ObjectBlobs, StorageAccess, open_objects
from gossamer.errors import UserError
from tests.contracts.blobs import BlobsContract, Follow, LetPass, read

HOUR = timedelta(hours=1)

_prefixes = count(1)  # of one bucket: each one more would cost the server many files


def fetched(address: str) -> tuple[int, bytes]:
    """As anybody would: a plain GET."""
    try:
        with urllib.request.urlopen(address, timeout=10) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, b""


@pytest.fixture
def access(storage_server: str) -> StorageAccess:
    return StorageAccess(f"s3://tests/prefix/{next(_prefixes)}", storage_server, "us-east-1", "key", "secret")


@pytest.fixture
def objects(access: StorageAccess) -> ObjectBlobs:
    return open_objects(access)


class TestObjectBlobs(BlobsContract):
    expires = timedelta(seconds=2)

    @pytest.fixture
    def blobs(self, objects: ObjectBlobs) -> Blobs:
        return objects

    @pytest.fixture
    def follow(self) -> Follow:
        async def fetch(link: str) -> bytes | None:
            status, body = await asyncio.to_thread(fetched, link)
            return body if status == 200 else None

        return fetch

    @pytest.fixture
    def let_pass(self) -> LetPass:
        async def sleep(time: timedelta) -> None:
            await asyncio.sleep(time.total_seconds() + 1)  # signatures know whole seconds

        return sleep


async def test_nothing_is_public_and_nothing_is_listed(objects: ObjectBlobs, access: StorageAccess) -> None:
    await objects.put("exports/1.csv", [b"one"])
    link = await objects.link("exports/1.csv", HOUR)
    assert fetched(link) == (200, b"one")
    bare, _, signature = link.partition("?")
    bucket = f"{access.endpoint}/{bare.split('/')[3]}"
    for address in (
        bare,
        link[:-1] + ("0" if link[-1] != "0" else "1"),
        link.replace("X-Amz-Expires=3600", "X-Amz-Expires=36000"),
        link.replace("1.csv", "2.csv"),
        bucket,
        f"{bucket}/",
        f"{bucket}?list-type=2",
        f"{bucket}?{signature}",
    ):
        assert fetched(address)[0] == 403, address
    anonymous = urllib.request.Request(f"{bucket}/x", data=b"mine", method="PUT")
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(anonymous, timeout=10)


async def test_a_link_is_signed_for_a_week_at_most(objects: ObjectBlobs) -> None:
    assert "X-Amz-Expires=604800" in await objects.link("a", timedelta(days=30))


async def test_several_parts_make_one_file(objects: ObjectBlobs) -> None:
    chunks = [bytes([number]) * 1_000_000 for number in range(3 * PART // 1_000_000)]
    blob = await objects.put("large", chunks)
    assert blob.size == len(chunks) * 1_000_000
    assert await read(objects, "large") == b"".join(chunks)


async def test_a_storage_that_is_away_says_so(access: StorageAccess) -> None:
    with socket.socket() as nobody:  # a port that is taken, and at which nobody listens
        nobody.bind(("127.0.0.1", 0))
        away = open_objects(
            StorageAccess(access.url, f"http://127.0.0.1:{nobody.getsockname()[1]}", "x", "key", "secret")
        )
        with pytest.raises(BlobsAway, match="cannot be used"):
            await away.put("a", [b"1"])
        with pytest.raises(BlobsAway):
            await read(away, "a")
        with pytest.raises(BlobsAway):
            await away.delete("a")


async def test_a_wrong_key_is_refused_by_the_server(access: StorageAccess) -> None:
    stranger = open_objects(StorageAccess(access.url, access.endpoint, access.region, "key", "guess"))
    with pytest.raises(BlobsAway):
        await stranger.put("a", [b"1"])


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(UserError) as refused:
        open_objects(StorageAccess("ftp://somewhere/else"))
    assert refused.value.code == "storage.unusable"
