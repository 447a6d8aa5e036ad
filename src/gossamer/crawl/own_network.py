"""Tell an outage of our own network from an outage of a site; used together with the requester.

A failed request alone is inconclusive: the site may be down, or our network. If another request that began
later is answered, the network is up. If none is answered within a moment, this module makes checks: whether
the machine has a route, whether addresses that answered earlier still accept connections, and whether the
name server answers. The table in docs/explain/outages.md gives the conclusions.

While there is no network, only such checks are sent, at growing intervals; the first that succeeds ends the
outage. A check takes the domain's turn at the Gate, connects and sends nothing. Only domains of the jobs,
the configured name servers and the configured proxy are ever contacted.
"""

import asyncio
import errno
import math
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from ipaddress import ip_address
from typing import TypeVar
from urllib.parse import urlsplit

from gossamer.clock import Clock
from gossamer.fetch import FetchError
from gossamer.fetch.guard import Clearance, Guard
from gossamer.fetch.outage import Answers, Outage
from gossamer.gate import NOW, Gate, pass_gate
from gossamer.logging import get_logger
from gossamer.model.trouble import Reason
from gossamer.model.url import domain_of, host_of

SUSPICIOUS = frozenset({Reason.UNREACHABLE, Reason.NAME_SERVER, Reason.TIMEOUT, Reason.CUT_OFF, Reason.PROXY})
"""Reasons with which requests fail both without a network and if a site is down."""

MANY = 5  # domains that fail in a row, without any answer, are too many to be a coincidence,
VERY_MANY = 20  # and so many if the name server still answers

_TICK = 0.1  # seconds
_WAIT, _LONGEST_WAIT = 10, 40  # ticks to wait for a later answer; the second while other requests are in flight
_FIRST_LOOK, _LONGEST_PAUSE = 1.0, 5.0  # seconds between checks during an outage
_FEW, _AT_ONCE, _OTHERS = 2, 5, 2  # addresses per check; of sites not requested yet
_CONNECT = 3.0  # seconds
_TURN = timedelta(seconds=2)  # to wait at the Gate
_REMEMBERED = 1_000  # domains that failed
_FORGIVEN = 600.0  # seconds during which only one try of a domain is ignored because of an outage
_DEFAULT_PORTS = {"http": 80, "https": 443}
_NO_ROUTE = frozenset({errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTUNREACH})
# Addresses of documentation networks: asking for the route to them sends nothing.
_ANYWHERE = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))

_Any = TypeVar("_Any")

log = get_logger(__name__)


class NetworkState(Enum):
    """Result of a network check."""

    THERE = "there"  # the network works, as far as can be told: failures are the sites' trouble
    LIKELY = "likely"  # an outage, unless all these sites are down: assumed for a limited time
    AWAY = "away"


@dataclass(frozen=True, slots=True)
class _Failed:
    url: str
    at: float


@dataclass(frozen=True, slots=True)
class _Destination:
    """A destination of a network check, paced by its domain. The proxy, which has none, is checked separately."""

    domain: str
    address: str
    port: int
    answered: bool  # earlier requests


class OwnNetwork:
    """The network as one process sees it. `spacing_of` is the minimum time between two requests to a domain."""

    def __init__(
        self,
        clock: Clock,
        guard: Guard,
        answers: Answers,
        name_servers: Callable[[], Awaitable[bool]],
        gate: Gate,
        spacing_of: Callable[[str], timedelta],
        proxy: str = "",
        patience: timedelta = timedelta(minutes=10),
    ) -> None:
        """`name_servers` tells whether they answer; `patience` is how long a likely outage is assumed."""
        self._clock = clock
        self._guard = guard
        self._answers = answers
        self._name_servers = name_servers
        self._gate = gate
        self._spacing_of = spacing_of
        self._proxy = proxy
        self._patience = patience.total_seconds()
        self._outage = Outage(clock)
        self._failed: dict[str, _Failed] = {}  # by domain, since the last answer
        self._late: set[str] = set()  # domains whose requests failed during an outage
        self._back_at = -math.inf
        self._since: datetime | None = None
        self._began = math.inf
        self._deciding: asyncio.Task[None] | None = None
        self._waiting_for_it: asyncio.Task[None] | None = None
        self._round = 0
        self._is_sure = False
        self._doubted_at = -math.inf
        self._forgiven: dict[str, float] = {}
        self.in_flight = 0  # requests in flight or waiting for their turn; the requester counts
        self.others_can: Callable[[], Awaitable[bool]] = _no_others
        """Tells whether other machines can do our work meanwhile; then a likely outage is assumed for longer."""
        self.waiting: Callable[[], Awaitable[Sequence[str]]] = _no_urls
        """Returns URLs of waiting sites, from several jobs."""

    @property
    def is_away(self) -> bool:
        """True if nothing may be sent, if only until the network was checked."""
        return self._began < math.inf

    @property
    def since(self) -> datetime | None:
        """When the network was found to be down; None until a check has confirmed it."""
        return self._since

    @property
    def why(self) -> str:
        return self._outage.why

    @property
    def looks(self) -> int:
        """The number of network checks since the start of the process."""
        return self._round

    async def is_ours(self, url: str, began: float) -> bool:
        """Return True if a request that failed in a SUSPICIOUS way did so because the network was down.

        `began` is when it was sent. Waits for the answer: usually a moment, up to some seconds.
        """
        if self._was_away(began):
            self._late.add(domain_of(host_of(url)))
            return True
        failed = self._clock.monotonic()
        self._note(url, failed)
        if await self._is_answered_after(failed):
            return False
        if not self.is_away:
            if self._deciding is None or self._deciding.done():
                self._deciding = asyncio.create_task(self._decide())
            # Shielded: a visit that is cancelled must not cancel the decision for the others.
            await asyncio.shield(self._deciding)
        # Delayed packets may be delivered only now, so the next request keeps its distance from now on.
        domain = domain_of(host_of(url))
        await self._gate.hold_off(domain, self._spacing_of(domain))
        return self._was_away(began)

    def _was_away(self, began: float) -> bool:
        """Return True if the network is down, or was down at any time since `began`."""
        return self.is_away or began < self._back_at

    async def aclose(self) -> None:
        tasks = [task for task in (self._deciding, self._waiting_for_it) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _note(self, url: str, at: float) -> None:
        heard = self._answers.began
        if len(self._failed) >= _REMEMBERED:
            self._failed = {domain: one for domain, one in self._failed.items() if one.at >= heard}
        if len(self._failed) < _REMEMBERED:
            self._failed[domain_of(host_of(url))] = _Failed(url, at)

    async def _is_answered_after(self, failed: float) -> bool:
        """Return True if a request sent later is answered. Waits longer while the event loop is blocked."""
        for tick in range(_LONGEST_WAIT):
            if self._answers.began > failed:
                return True
            if self.is_away:
                return False
            if tick >= _WAIT and (not self.in_flight or len(self._silent()) >= MANY):
                return False
            await asyncio.sleep(_TICK)
        return self._answers.began > failed

    def _silent(self) -> dict[str, _Failed]:
        """Return the domains that failed since the last answer, or since before the outage."""
        heard = min(self._answers.began, self._began)
        return {domain: one for domain, one in self._failed.items() if one.at >= heard}

    # Beginning and ending

    async def _decide(self) -> None:
        silent = self._silent()
        if len(silent) >= MANY and not self._is_forgiven(silent):
            # Assumed before it is checked: the outage may end during the check, and these tries would then count.
            self._begin(NetworkState.LIKELY, f"none of {len(silent)} domains answers", silent)
            return
        finding, why = await self._look()
        if finding is NetworkState.LIKELY and self._answers.began < self._doubted_at:
            return  # no site has answered since the last such outage was over: these sites are down
        if finding is not NetworkState.THERE:
            self._begin(finding, why, silent)

    def _is_forgiven(self, silent: Iterable[str]) -> bool:
        """Return True if a try of any of these domains was recently ignored because of an outage."""
        lately = self._clock.monotonic() - _FORGIVEN
        self._forgiven = {domain: at for domain, at in self._forgiven.items() if at > lately}
        return not self._forgiven.keys().isdisjoint(silent)

    def _begin(self, finding: NetworkState, why: str, silent: Iterable[str]) -> None:
        self._outage.begin(why)
        self._began = self._clock.monotonic()
        self._is_sure = finding is NetworkState.AWAY
        self._forgiven |= dict.fromkeys(silent, self._began)
        log.info("network.missed", why=why)
        self._waiting_for_it = asyncio.create_task(self._wait_for_it())

    async def _wait_for_it(self) -> None:
        try:
            await self._look_until_there()
        except Exception:
            log.exception("network.look_failed")  # a mistake of ours must not keep everything waiting for ever
        for domain in {*self._failed, *self._late}:
            await self._gate.hold_off(domain, self._spacing_of(domain))
        now = self._clock.monotonic()
        if not self._is_sure:
            self._doubted_at = now
        self._outage.end()
        self._failed.clear()
        self._late.clear()
        self._since, self._began, self._back_at = None, math.inf, now

    async def _look_until_there(self) -> None:
        started, pause, given_up = self._clock.now(), _FIRST_LOOK, False
        while not given_up:
            finding, why = await self._look()
            if finding is NetworkState.THERE:
                break
            if self._since is None:
                self._since = started
                log.warning("network.away", why=why)
            self._outage.begin(why)
            self._is_sure = self._is_sure or finding is NetworkState.AWAY
            too_long = finding is NetworkState.LIKELY and self._outage.lasts() >= self._patience
            given_up = too_long and not await self.others_can()
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)
        log.info("network.back", seconds=round(self._outage.lasts()), given_up=given_up)

    # Checks

    async def _look(self) -> tuple[NetworkState, str]:
        """Check the network; return the finding and its reason."""
        self._round += 1
        if self._answers.began > self._began:
            return NetworkState.THERE, ""
        if self._proxy:
            return await self._look_for_the_proxy()
        silent = self._silent()
        destinations = await self._destinations(silent)
        dead: list[_Destination] = []
        for some in (destinations[:_FEW], destinations[_FEW:]):  # one connection is enough
            unreached = await self._unreached(some)
            if unreached is None:
                return NetworkState.THERE, ""
            dead += unreached
        if not self._has_route(silent, destinations):
            return NetworkState.AWAY, "no route"
        return await self._judge(silent, dead)

    async def _judge(self, silent: dict[str, _Failed], dead: list[_Destination]) -> tuple[NetworkState, str]:
        """Return the finding if nothing could be connected to, although there is a route."""
        gone = {(one.address, one.port) for one in dead if one.answered}
        known = (_destination(clearance, answered=True) for clearance in self._answers.recent())
        domains = len({*silent, *(one.domain for one in known if (one.address, one.port) in gone)})
        addresses = len({one.address for one in dead if one.answered})
        if addresses >= MANY:
            return NetworkState.AWAY, f"{addresses} addresses that answered before do not any more"
        names = await self._name_servers() if any(map(self._is_looked_up, silent.values())) else None
        if names is False:
            return (NetworkState.AWAY if domains >= MANY else NetworkState.LIKELY), "no answer from the name server"
        if domains >= (MANY if names is None or addresses else VERY_MANY):
            return NetworkState.LIKELY, f"none of {domains} domains answers"
        return NetworkState.THERE, ""

    async def _look_for_the_proxy(self) -> tuple[NetworkState, str]:
        """Check the proxy. One that refuses the connection is there: ProxyGuard handles that."""
        there = urlsplit(self._proxy)
        try:
            await _connect(there.hostname or "", there.port or _DEFAULT_PORTS.get(there.scheme, 1080))
        except ConnectionRefusedError:
            return NetworkState.THERE, ""
        except (OSError, TimeoutError):
            return NetworkState.LIKELY, "the proxy in GOSSAMER_PROXY cannot be reached"
        return NetworkState.THERE, ""

    async def _destinations(self, silent: dict[str, _Failed]) -> list[_Destination]:
        """Choose destinations that answered before, at different addresses; if too few, some that did not answer."""
        found: dict[tuple[str, int], _Destination] = {}
        for clearance in _turned(self._answers.recent(), self._round - 1):
            destination = _destination(clearance, answered=True)
            found.setdefault((destination.address, destination.port), destination)
            if len(found) == _AT_ONCE:
                break
        if self.is_away:
            # A job whose sites are all down must not delay other jobs, whose sites were not tried yet.
            others = [url for url in await self.waiting() if domain_of(host_of(url)) not in self._failed]
            await self._add_destinations(found, others[:_OTHERS])
        if len(found) >= _AT_ONCE:
            return list(found.values())
        if self.is_away or len(silent) >= MANY:
            asked = _turned(list(silent.values()), (self._round - 1) * _AT_ONCE)[:_AT_ONCE]
            await self._add_destinations(found, [one.url for one in asked])
        return list(found.values())[:_AT_ONCE]

    async def _add_destinations(self, found: dict[tuple[str, int], _Destination], urls: Sequence[str]) -> None:
        for admitted in await asyncio.gather(*(self._admit(url) for url in urls)):
            if admitted:
                destination = _destination(admitted, answered=False)
                found.setdefault((destination.address, destination.port), destination)

    async def _admit(self, url: str) -> Clearance | None:
        try:
            return await self._guard.admit(url)
        except FetchError:
            return None

    async def _unreached(self, destinations: Sequence[_Destination]) -> list[_Destination] | None:
        """Return the destinations that could not be connected to; None if one could."""
        looks = [asyncio.create_task(self._reaches(destination)) for destination in destinations]
        dead: list[_Destination] = []
        try:
            for look in asyncio.as_completed(looks):
                destination, reached = await look
                if reached:
                    return None
                if reached is False:
                    dead.append(destination)
        finally:
            for look in looks:
                look.cancel()
            await asyncio.gather(*looks, return_exceptions=True)
        return dead

    async def _reaches(self, destination: _Destination) -> tuple[_Destination, bool | None]:
        """Connect to a destination; the result is None if its domain's spacing did not allow it yet.

        It counts as a request to its domain.
        """
        spacing = self._spacing_of(destination.domain)
        if await pass_gate(self._gate, destination.domain, spacing, _TURN) > NOW:
            return destination, None
        try:
            await _connect(destination.address, destination.port)
        except (OSError, TimeoutError):
            return destination, False
        finally:
            await self._gate.hold_off(destination.domain, spacing)
        return destination, True

    def _has_route(self, silent: dict[str, _Failed], destinations: Iterable[_Destination]) -> bool:
        """Return True if the system has a route to any of these addresses, or to any network at all."""
        there = {(_family(destination.address), destination.address) for destination in destinations}
        for one in silent.values():
            there.update((_family(str(address)), str(address)) for address in self._recalled(one.url).addresses)
        if not there or any(map(self._is_looked_up, silent.values())):
            there.update(_ANYWHERE)
        return any(_knows_route(family, address) for family, address in there)

    def _recalled(self, url: str) -> Clearance:
        with suppress(FetchError):
            return self._guard.recall(url) or _NO_CLEARANCE
        return _NO_CLEARANCE

    def _is_looked_up(self, one: _Failed) -> bool:
        """Return True if a name server is needed for its address."""
        return not self._recalled(one.url).by_rule and not _is_address(host_of(one.url))


_NO_CLEARANCE = Clearance("", (), "")


async def _no_others() -> bool:
    return False


async def _no_urls() -> Sequence[str]:
    return ()


async def _connect(host: str, port: int) -> None:
    """Connect and close again. Raises OSError or TimeoutError."""
    async with asyncio.timeout(_CONNECT):
        _, writer = await asyncio.open_connection(host, port)
    writer.close()


def _destination(clearance: Clearance, *, answered: bool) -> _Destination:
    there = urlsplit(clearance.send)
    # The name of the site, not of the server that an operator's rule sends its requests to.
    name = (urlsplit(f"//{clearance.authority}").hostname if clearance.authority else None) or clearance.host
    return _Destination(
        domain_of(name), str(clearance.addresses[0]), there.port or _DEFAULT_PORTS[there.scheme], answered
    )


def _turned(several: Sequence[_Any], by: int) -> Sequence[_Any]:
    """Return the items rotated by a number of steps."""
    at = by % len(several) if several else 0
    return [*several[at:], *several[:at]]


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def _is_address(host: str) -> bool:
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def _knows_route(family: socket.AddressFamily, address: str) -> bool:
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as way:
        try:
            way.connect((address, 9))  # a datagram socket: nothing is sent
        except OSError as error:
            return error.errno not in _NO_ROUTE
        return True
    return False  # this system does not support that family
