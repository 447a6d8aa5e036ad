"""Calls to an emulated provider, written by hand: the tests of the emulators do without our own clients."""

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from wreq import Client

from gossamer_sandbox.providers import Running
from tests.sandbox.providers.recorded import KEY, Recorded

PATIENCE = timedelta(seconds=20)


@dataclass(frozen=True)
class Got:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


async def send(url: str, headers: dict[str, str] | None = None, body: Any = None) -> Got:
    client = Client(no_proxy=True)
    sent = headers or {}
    if body is None:
        answer = client.get(url, headers=sent, timeout=PATIENCE)
    else:
        answer = client.post(url, headers=sent, body=json.dumps(body).encode(), timeout=PATIENCE)
    async with answer as arrived:
        found = {str(name, "latin-1"): str(value, "latin-1") for name, value in arrived.headers}
        return Got(arrived.status.as_int(), found, bytes(await arrived.bytes()))


async def call(running: Running, recorded: Recorded) -> Got:
    """The call of a recording."""
    bearer = {"Authorization": f"Bearer {recorded.key}"}
    query = urlencode({"url": recorded.url, **recorded.asked})
    match running.name:
        case "scrapingbee":
            return await send(f"{running.url}/?{query}", bearer)
        case "scraperapi":
            return await send(f"{running.url}/?{query}", {"x-sapi-api_key": recorded.key})
        case "flaresolverr":
            return await send(f"{running.url}/v1", {}, recorded.asked)
    return await send(f"{running.url}/scrape", bearer, {"url": recorded.url, **recorded.asked})


async def page(running: Running, target: str, /, **asked: Any) -> Got:
    """A page by a call like any other."""
    return await call(running, Recorded("", asked, 200, target, key=KEY))
