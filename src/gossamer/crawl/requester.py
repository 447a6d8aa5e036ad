"""All requests of a visit, robots.txt and redirects included: each waits for its turn at the Gate, and is paid for.

On a paid rung the worst price of a request is reserved before it is sent. Its real cost is booked with the next step of
the visit, in the transaction that writes the request's results.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import NamedTuple, Protocol

from gossamer.clock import Clock
from gossamer.crawl.domain_pacing import STRAINED, DomainLocks, DomainPacing
from gossamer.crawl.leases import HeldLease
from gossamer.crawl.own_network import SUSPICIOUS, OwnNetwork
from gossamer.fetch import Accept, Fetcher, FetchError, ProviderBusy, ProviderUnusable, ProxyAway, Sink
from gossamer.gate import Gate, pass_gate
from gossamer.judge.next_step import LONGEST_POLITE_WAIT
from gossamer.judge.status import seconds_asked
from gossamer.model.document import Request, Response
from gossamer.model.money import BudgetRefusal, Charge, Reservation, Why
from gossamer.model.page import Errand, Visit
from gossamer.model.rungs import DIRECT, Rung
from gossamer.model.trouble import Reason
from gossamer.model.url import domain_of, host_of, origin_of, url_key

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
    """Return the spacing with its margin; cached, since multiplying a timedelta by a fraction is slow."""
    return room * _MARGIN


class Interrupted(Exception):
    """The crawl was stopped before the request was made. It does not count as a try."""


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
    """Our own proxy is down. Nothing was sent; the visit is handed back for `wait`."""

    wait = timedelta(seconds=15)


class NoNetwork(NoWayOut):
    """Our own network is down. The visit is handed back without a delay, because other machines may take it at once.

    This process takes no visits until the network is back.
    """

    wait = timedelta()


class Treasury(Protocol):
    """The account budgets: implemented by billing/reservations.py:Treasurer."""

    async def reserve(
        self, visit: Visit, rung: str, *, page: bytes | None = None, size: int = 0
    ) -> Reservation | BudgetRefusal: ...

    def release(self, reservation: Reservation) -> None: ...


@dataclass(slots=True)
class RequestBudget:
    """Reservations and charges of one visit."""

    treasury: Treasury
    visit: Visit
    charges: list[Charge] = field(default_factory=list)  # of finished requests that are not written yet

    async def reserve(self, rung: Rung, url: str) -> Reservation | BudgetRefusal:
        """Reserve the worst price of a request; a BudgetRefusal says why that is not possible."""
        return await self.treasury.reserve(self.visit, rung.name, page=url_key(url))

    def charge(self, reservation: Reservation, cost: int | None) -> None:
        """Charge a finished request. With an unknown `cost` (None) the worst price is charged."""
        self.charges.append(reservation.charge(cost))

    def release(self, reservation: Reservation) -> None:
        """Release a reservation whose request was not sent."""
        self.treasury.release(reservation)

    def take_charges(self) -> tuple[Charge, ...]:
        """Return the charges since the last call."""
        taken = tuple(self.charges)
        self.charges.clear()
        return taken


@dataclass(slots=True)
class _RungSession:
    """The session of a visit on one rung."""

    session: Fetcher
    origins: dict[str, "_Origin"] = field(default_factory=dict)  # those that were admitted, by scheme, host and port


class _Origin(NamedTuple):
    """An origin that the SSRF guard has admitted."""

    domain: str
    lock: asyncio.Lock


@dataclass(slots=True)
class Requester:
    """Makes single requests at the spacing of their domain, and records their times as evidence.

    Requests on all rungs wait for the same Gate. robots.txt and sitemaps are always requested directly.
    """

    open: Callable[[Rung], Fetcher]
    gate: Gate
    domain_locks: DomainLocks
    pacing: DomainPacing
    clock: Clock
    lease: HeldLease
    timeout: timedelta
    request_budget: RequestBudget
    resting: Callable[[str], ProviderUnusable | None]  # why a rung cannot be used, as far as this process knows
    own_network: OwnNetwork
    patience: timedelta = LONGEST_SLEEP
    sent: list[int] = field(default_factory=list)  # when requests for the current page were sent
    errands: list[Errand] = field(default_factory=list)  # requests for robots.txt and sitemaps
    _sessions: dict[str, _RungSession] = field(default_factory=dict)

    def get(
        self,
        url: str,
        max_bytes: int,
        *,
        rung: Rung = DIRECT,
        accept: Accept | None = None,
        request: Request | None = None,
    ) -> Awaitable[Response]:
        """Make one request for a page, without following redirects. A body that `accept` refuses is not read."""
        return self._ask(url, max_bytes, accept, None, self.sent, rung, request=request)

    async def admit(self, url: str) -> None:
        """Raise FetchError if the SSRF guard forbids the URL, which holds for all rungs."""
        await self._session(DIRECT).session.admit(url)

    async def close(self) -> None:
        for rung_session in self._sessions.values():
            await rung_session.session.close()

    async def run_errand(self, url: str, max_bytes: int, sink: Sink | None = None) -> Response:
        """Make one request for robots.txt or a sitemap: up to `max_bytes`, into `sink` if there is one."""
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
                # The try does not count, but its requests may have reached the site.
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
        rung_session = self._session(rung)
        domain, lock = rung_session.origins.get(origin_of(url)) or await self._admit_origin(rung_session, url)
        async with lock:
            await self._wait_turn(domain)
            reserved: Reservation | None = None
            browsed = False  # by a browser of our own, which may have contacted the site before it was redirected
            cost: int | None = None  # unknown until the provider tells
            began = answered = self.clock.monotonic()
            sent.append(self.clock.milliseconds())
            heard, asked = 0, _NO_REST

            async def before() -> None:
                nonlocal reserved, browsed
                reserved = await self._reserve(rung, url)
                browsed = not rung.is_paid
                sent[-1] = self.clock.milliseconds()

            def on_head(status: int, headers: Mapping[str, str]) -> bool:
                nonlocal answered, heard, asked
                answered, heard = self.clock.monotonic(), status
                asked = _rest_asked(rung, status, headers, self.clock)
                return accept is None or accept(status, headers)

            try:
                response = await rung_session.session.fetch(
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
                raised = _translated(error)
                cost = error.credits
                # A provider may have been paid before its answer redirected to a forbidden address.
                free = not browsed and (reserved is None or cost == 0)
                unsent = error.trouble.reason in _NOTHING_SENT and free
                if unsent or raised is not error:
                    sent.pop()  # it must not be recorded as a request that was made
                if raised is error:
                    raise
                raise raised from error
            finally:
                if reserved:
                    self.request_budget.charge(reserved, cost)
                now = self.clock.monotonic()
                # No answer counts as a slow one.
                took = (answered if heard else now) - began if rung.is_plain else None
                self.pacing.answered(domain, heard, took)
                # Counted from when the site has certainly received the request, not from when it was sent.
                rest = max(_spaced(self.pacing.spacing(domain)), asked)
                await self.gate.hold_off(domain, rest - timedelta(seconds=now - answered) if heard else rest)

    def _session(self, rung: Rung) -> _RungSession:
        rung_session = self._sessions.get(rung.name)
        if rung_session is None:
            rung_session = self._sessions[rung.name] = _RungSession(self.open(rung))
        return rung_session

    async def _reserve(self, rung: Rung, url: str) -> Reservation | None:
        """Reserve the price of a paid request; the only place that does.

        Raises Interrupted if the crawl was stopped or its lease is about to end. Called with a concurrency slot of
        the provider already held, not while queuing for one, so a process that dies in the queue owes nothing.
        """
        if not self._may_send():
            raise Interrupted
        if not rung.is_paid:
            return None
        granted = await self.request_budget.reserve(rung, url)
        if isinstance(granted, BudgetRefusal):
            if granted.why is Why.CROWDED:
                raise TooEarly(timedelta(seconds=_BUSY))
            raise Interrupted  # the job was paused for it, or another worker has the visit by now
        if not self._may_send():
            self.request_budget.release(granted)
            raise Interrupted
        self.lease.paying = True
        return granted

    async def _admit_origin(self, rung_session: _RungSession, url: str) -> _Origin:
        # Before the Gate: a forbidden URL must not use up a turn.
        await rung_session.session.admit(url)
        domain = domain_of(host_of(url))
        origin = rung_session.origins[origin_of(url)] = _Origin(domain, self.domain_locks.of(domain))
        return origin

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
        if not self._may_send():
            raise Interrupted

    def _may_send(self) -> bool:
        """Return True if the crawl was not stopped and its lease is not about to end."""
        return not self.lease.stop.is_set() and self.clock.monotonic() < self.lease.deadline

    async def _sleep(self, seconds: float) -> None:
        await self.rest(timedelta(seconds=seconds))

    async def rest(self, time: timedelta) -> None:
        """Sleep until `time` has passed. Raises Interrupted if the crawl is stopped."""
        try:
            async with asyncio.timeout(time.total_seconds()):
                await self.lease.stop.wait()
        except TimeoutError:
            return
        raise Interrupted


def _rest_asked(rung: Rung, status: int, headers: Mapping[str, str], clock: Clock) -> timedelta:
    """Return how long a refusing site asks for no requests, before any other request to it is sent.

    Longer waits are decided by the visit: this returns none for them.
    """
    if status not in STRAINED or not rung.is_plain:
        return _NO_REST
    asked = seconds_asked(headers.get("retry-after", ""), clock.now(), headers.get("date", "")) or 0.0
    return timedelta(seconds=asked) if asked <= LONGEST_POLITE_WAIT else _NO_REST


def _cost_of(response: Response, rung: Rung, reserved: Reservation | None) -> int | None:
    if rung.is_paid and reserved is None:
        raise RuntimeError(f"no budget was reserved for a page that was requested through {rung.name}")
    return response.credits


def _translated(error: FetchError) -> Exception:
    """Return the error to raise; one that is not a FetchError does not count as a try, but may have a cost."""
    match error:
        case ProxyAway():
            error.credits = 0
            return NoWayOut()
        case ProviderUnusable():
            return NoProvider(error)
        case ProviderBusy():
            return TooEarly(timedelta(seconds=error.trouble.retry_after or _BUSY))
    return error
