"""The only way out for a visit: every request waits its turn at the Gate here, robots.txt and redirects included."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import NamedTuple

from gossamer.clock import Clock
from gossamer.crawl.domain_pacing import STRAINED, DomainLocks, DomainPacing
from gossamer.crawl.leases import HeldLease
from gossamer.crawl.own_network import SUSPICIOUS, OwnNetwork
from gossamer.crawl.request_budget import RequestBudget
from gossamer.fetch import Accept, Fetcher, FetchError, ProviderBusy, ProviderUnusable, ProxyAway, Sink
from gossamer.gate import Gate, pass_gate
from gossamer.judge.next_step import LONGEST_POLITE_WAIT
from gossamer.judge.status import seconds_asked
from gossamer.model.document import Request, Response
from gossamer.model.money import BudgetRefusal, Reservation, Why
from gossamer.model.page import Errand
from gossamer.model.rungs import DIRECT, Rung
from gossamer.model.trouble import Reason
from gossamer.model.url import domain_of, host_of, origin_of

LONGEST_SLEEP = timedelta(seconds=5)
MOST_HOPS = 5  # redirects on the way to one answer
_NOTHING_SENT = frozenset({
    *(Reason.NEVER_VISIT, Reason.FORBIDDEN_ADDRESS, Reason.BAD_URL, Reason.DNS, Reason.NAME_SERVER),
    Reason.NEVER_SEND,
})  # fmt: skip
_BUSY = 15.0  # seconds until a provider that takes no more calls, or a crowded budget, is asked again
_NO_REST = timedelta()
_MARGIN = 1.02  # clocks and schedulers are never exact; the site should not notice


@lru_cache(maxsize=1_024)
def _spaced(room: timedelta) -> timedelta:
    """A site's spacing as we keep it. There are few different ones, and multiplying times by fractions is slow."""
    return room * _MARGIN


class Interrupted(Exception):
    """The walk was stopped before the request was made. It does not count as a try."""


class TooEarly(Exception):
    """The Gate is closed for longer than we sleep."""

    def __init__(self, wait: timedelta) -> None:
        super().__init__(f"not before {wait}")
        self.wait = wait


class NoProvider(TooEarly):
    """The provider of a rung cannot be used at the moment, for any page."""

    def __init__(self, error: ProviderUnusable) -> None:
        super().__init__(error.wait)
        self.error = error


class NoWayOut(Exception):
    """Our own proxy is away. Nothing was sent, and nothing is to be tried before `wait` is over."""

    wait = timedelta(seconds=15)


class NoNetwork(NoWayOut):
    """Nor is there a network. Who hands a visit back for it takes none before there is one; others may at once."""

    wait = timedelta()


@dataclass(slots=True)
class _Way:
    """One rung as this visit uses it."""

    session: Fetcher
    roads: dict[str, "_Road"] = field(default_factory=dict)  # by scheme, host and port


class _Road(NamedTuple):
    """An admitted destination of requests."""

    domain: str
    lock: asyncio.Lock


@dataclass(slots=True)
class Requester:
    """Makes single requests, politely, and records their times, so that the rows can prove politeness.

    On every rung a request waits for the same Gate. Robots.txt and sitemaps are always requested directly.
    """

    open: Callable[[Rung], Fetcher]
    gate: Gate
    domain_locks: DomainLocks
    pacing: DomainPacing
    clock: Clock
    hold: HeldLease
    timeout: timedelta
    request_budget: RequestBudget
    resting: Callable[[str], ProviderUnusable | None]  # why a rung cannot be used, as far as is known here
    own_network: OwnNetwork
    patience: timedelta = LONGEST_SLEEP
    sent: list[int] = field(default_factory=list)  # when requests for the page in hand went out
    errands: list[Errand] = field(default_factory=list)  # requests for anything else
    _ways: dict[str, _Way] = field(default_factory=dict)

    def get(
        self,
        url: str,
        max_bytes: int,
        *,
        rung: Rung = DIRECT,
        accept: Accept | None = None,
        request: Request | None = None,
    ) -> Awaitable[Response]:
        """One request for a page, no redirect followed. A body that `accept` refuses is not taken."""
        return self._ask(url, max_bytes, accept, None, self.sent, rung, request=request)

    async def admit(self, url: str) -> None:
        """Raise FetchError if the address may not be contacted, on whatever rung."""
        await self._way(DIRECT).session.admit(url)

    async def close(self) -> None:
        for way in self._ways.values():
            await way.session.close()

    async def run_errand(self, url: str, max_bytes: int, sink: Sink | None = None) -> Response:
        """One request for something else: no more than `max_bytes` of it, into `sink` if there is one."""
        sent: list[int] = []
        status = 0
        try:
            response = await self._ask(url, max_bytes, None, sink, sent, DIRECT, truncate=True)
            status = response.status
            return response
        finally:
            self.errands += [Errand(at, url, status) for at in sent]

    async def _ask(
        self,
        url: str,
        max_bytes: int,
        accept: Accept | None,
        sink: Sink | None,
        sent: list[int],
        rung: Rung,
        *,
        truncate: bool = False,
        request: Request | None = None,
    ) -> Response:
        """Make one request. Raises NoNetwork while the network is down.

        A request that failed because of our network does not count as a try of the page.
        """
        if self.own_network.is_away:
            raise NoNetwork
        began = self.clock.monotonic()
        self.own_network.in_flight += 1
        try:
            try:
                return await self._request(url, max_bytes, accept, sink, sent, rung, request, truncate=truncate)
            finally:
                self.own_network.in_flight -= 1
        except FetchError as error:
            if rung.is_paid or error.trouble.reason not in SUSPICIOUS or not await self.own_network.is_ours(url, began):
                raise
            if sent is self.sent:
                # What was sent for a page that counts as not tried may have arrived all the same.
                self.errands += [Errand(at, url, 0) for at in sent]
                sent.clear()
            raise NoNetwork from error

    async def _request(
        self,
        url: str,
        max_bytes: int,
        accept: Accept | None,
        sink: Sink | None,
        sent: list[int],
        rung: Rung,
        request: Request | None,
        *,
        truncate: bool = False,
    ) -> Response:
        if rung is not DIRECT and (known := self.resting(rung.name)):
            raise NoProvider(known)
        way = self._way(rung)
        domain, lock = way.roads.get(origin_of(url)) or await self._new_road(way, url)
        async with lock:
            await self._wait_turn(domain)
            reserved: Reservation | None = None
            browsed = False  # by a browser of our own, which may have met the site before it was led elsewhere
            cost: int | None = None  # nobody knows, until somebody says
            began = answered = self.clock.monotonic()
            sent.append(self.clock.milliseconds())
            heard, asked = 0, _NO_REST

            async def before() -> None:
                nonlocal reserved, browsed
                reserved = await self._put_aside(rung, url)
                browsed = not rung.is_paid
                sent[-1] = self.clock.milliseconds()

            def on_head(status: int, headers: Mapping[str, str]) -> bool:
                nonlocal answered, heard, asked
                answered, heard = self.clock.monotonic(), status
                asked = _rest_asked(rung, status, headers, self.clock)
                return accept is None or accept(status, headers)

            try:
                response = await way.session.fetch(
                    url,
                    timeout=self.timeout if rung is DIRECT else rung.timeout,
                    max_bytes=max_bytes,
                    accept=on_head,
                    truncate=truncate,
                    sink=sink,
                    before=None if rung is DIRECT else before,
                    request=request,
                )
                cost = _cost_of(response, rung, reserved)
                return response
            except (TooEarly, Interrupted):
                sent.pop()
                raise
            except FetchError as error:
                told = _told(error)
                cost = error.credits
                # A provider may have been asked, and paid, before its answer led to where nobody may go.
                free = not browsed and (reserved is None or cost == 0)
                unsent = error.trouble.reason in _NOTHING_SENT and free
                if unsent or told is not error:
                    sent.pop()  # it must not stand in the rows as a request that was made
                if told is error:
                    raise
                raise told from error
            finally:
                if reserved:
                    self.request_budget.pay(reserved, cost)
                now = self.clock.monotonic()
                # Silence is slowness too.
                took = (answered if heard else now) - began if rung.is_plain else None
                self.pacing.answered(domain, heard, took)
                # Counted from when the site is known to have received the request, not from when we meant to send it.
                rest = max(_spaced(self.pacing.spacing(domain)), asked)
                await self.gate.hold_off(domain, rest - timedelta(seconds=now - answered) if heard else rest)

    def _way(self, rung: Rung) -> _Way:
        way = self._ways.get(rung.name)
        if way is None:
            way = self._ways[rung.name] = _Way(self.open(rung))
        return way

    async def _put_aside(self, rung: Rung, url: str) -> Reservation | None:
        """Reserve the price of a paid request; the only place that does.

        Raises Interrupted if the walk was stopped or its lease is about to end. Called with a concurrency slot of
        the provider already held, not while queuing for one, so a process that dies in the queue owes nothing.
        """
        if not self._is_wanted():
            raise Interrupted
        if not rung.is_paid:
            return None
        granted = await self.request_budget.put_aside(rung, url)
        if isinstance(granted, BudgetRefusal):
            if granted.why is Why.CROWDED:
                raise TooEarly(timedelta(seconds=_BUSY))
            raise Interrupted  # the job has been paused for it, or the visit is somebody else's by now
        if not self._is_wanted():
            self.request_budget.give_back(granted)
            raise Interrupted
        self.hold.paying = True
        return granted

    async def _new_road(self, way: _Way, url: str) -> _Road:
        # Before our turn is used up: nothing would be sent.
        await way.session.admit(url)
        domain = domain_of(host_of(url))
        road = way.roads[origin_of(url)] = _Road(domain, self.domain_locks.of(domain))
        return road

    async def stay_away(self, domain: str, time: timedelta) -> None:
        """Block requests of this process to a site that asked for it, for all jobs."""
        await self.gate.hold_off(domain, time)

    async def _wait_turn(self, domain: str) -> None:
        spacing = _spaced(self.pacing.spacing(domain))
        wait = await pass_gate(self.gate, domain, spacing, self.patience, self._sleep)
        if wait:
            raise TooEarly(wait)
        if self.own_network.is_away:
            raise NoNetwork
        if not self._is_wanted():
            raise Interrupted

    def _is_wanted(self) -> bool:
        """True if the walk was not stopped and its lease is not about to end."""
        return not self.hold.stop.is_set() and self.clock.monotonic() < self.hold.deadline

    async def _sleep(self, seconds: float) -> None:
        await self.rest(timedelta(seconds=seconds))

    async def rest(self, time: timedelta) -> None:
        """Sleep until `time` has passed or the walk is stopped."""
        try:
            async with asyncio.timeout(time.total_seconds()):
                await self.hold.stop.wait()
        except TimeoutError:
            return
        raise Interrupted


def _rest_asked(rung: Rung, status: int, headers: Mapping[str, str], clock: Clock) -> timedelta:
    """Return how long a refusing site asks for no requests, before any other request to it is sent.

    If it asks for longer than a climbing page waits, the site's own visit has to decide.
    """
    if status not in STRAINED or not rung.is_plain:
        return _NO_REST
    asked = seconds_asked(headers.get("retry-after", ""), clock.now(), headers.get("date", "")) or 0.0
    return timedelta(seconds=asked) if asked <= LONGEST_POLITE_WAIT else _NO_REST


def _cost_of(response: Response, rung: Rung, reserved: Reservation | None) -> int | None:
    if rung.is_paid and reserved is None:
        raise RuntimeError(f"nothing was put aside for a page that {rung.name} was asked for")
    return response.credits


def _told(error: FetchError) -> Exception:
    """Return the error to raise in a crawl for a failure that is not a try of the page, but may have a cost."""
    match error:
        case ProxyAway():
            error.credits = 0
            return NoWayOut()
        case ProviderUnusable():
            return NoProvider(error)
        case ProviderBusy():
            return TooEarly(timedelta(seconds=error.trouble.retry_after or _BUSY))
    return error
