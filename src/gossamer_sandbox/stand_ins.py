"""Rungs for tests: one that is served by another server, and one with scripted responses.

The first works in real processes: `GOSSAMER_TEST_RUNGS=stealth=127.0.0.1:8081` sends every request of the
rung `stealth` to that address, whatever its host. Together with `python -m gossamer_sandbox.web --guarded
0.3`, which shows some pages only at a second address, jobs really climb the ladder. The second is for tests
in one process:

    kit = replace(kit, rungs={**kit.rungs, "stealth": scripted("stealth", answer)})
"""

from collections.abc import Callable
from datetime import timedelta
from ipaddress import ip_address
from urllib.parse import urlsplit

from gossamer.clock import Clock, SystemClock
from gossamer.crawl.worker_deps import OpenRung
from gossamer.fetch import Accept, Before, Fetcher, FetchError, Sink
from gossamer.fetch.guard import ConnectRule
from gossamer.fetch.http import HttpRung
from gossamer.model.document import Request, Response
from gossamer.model.rungs import RUNGS
from gossamer.model.trouble import Trouble

Script = Callable[[str], tuple[int, bytes] | Trouble]
"""What an address is answered with: a status and a page, or what goes wrong."""


def stand_in(name: str, place: str, direct: HttpRung) -> Callable[[int], Fetcher]:
    """Opens sessions of a rung for which `place`, an address with its port, answers for every host."""
    where = urlsplit(f"//{place}")
    rule = ConnectRule("*", ip_address(where.hostname or ""), where.port)
    guard = direct.guard.with_rules((rule,))
    rung = HttpRung(
        guard,
        direct.clock,
        connect_timeout=direct.connect_timeout,
        read_timeout=direct.read_timeout,
        runtime=direct.runtime,
        name=name,
    )
    return rung.session


def scripted(name: str, script: Script, clock: Clock | None = None) -> OpenRung:
    """Return a rung that answers from a script and makes no requests."""
    return OpenRung(RUNGS[name], lambda seed: _Scripted(name, script, clock or SystemClock()))


class _Scripted:
    """A Fetcher that reads its answers off a script."""

    def __init__(self, name: str, script: Script, clock: Clock) -> None:
        self._name = name
        self._script = script
        self._clock = clock

    async def fetch(
        self,
        url: str,
        *,
        timeout: timedelta,
        max_bytes: int,
        accept: Accept | None = None,
        truncate: bool = False,
        sink: Sink | None = None,
        before: Before | None = None,
        request: Request | None = None,
    ) -> Response:
        if before is not None:
            await before()
        answer = self._script(url)
        if isinstance(answer, Trouble):
            raise FetchError(answer)
        status, body = answer
        headers = {"content-type": "text/html; charset=utf-8"}
        taken = body[:max_bytes] if accept is None or accept(status, headers) else b""
        return Response(url, url, status, headers, taken, self._name, self._clock.now())

    async def admit(self, url: str) -> None:
        """Accept every address, without contacting it."""

    async def close(self) -> None:
        """Nothing was opened."""
