"""The direct rung: HTTP requests from this machine, browser-like, to addresses the guard has checked.

The client imitates browser fingerprints; this module adds the spelling and order of headers on HTTP/1.1,
where browsers write capitals and the client does not.

A session is the connection of one visit. It keeps one client per host, pinned to the checked addresses. A
pinned client still resolves every other name itself, so it is only ever given the host it was made for,
follows no redirect and obeys no proxy variable, and the remote address is compared once more when the
response arrives.

If the operator has a proxy, hosts are checked as before and then requested through it; only hosts to which
the operator has assigned an address are still contacted directly.
"""

import asyncio
import re
import resource
import ssl
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from wreq import Client, Http1Options, Method, Proxy
from wreq import Response as Arrived
from wreq.cookie import Jar
from wreq.dns import DnsOptions
from wreq.emulation import Emulation, Platform, Profile
from wreq.header import OrigHeaderMap
from wreq.redirect import Policy
from wreq.runtime import Runtime
from wreq.tls import CertStore

from gossamer.clock import Clock
from gossamer.errors import UserError
from gossamer.fetch.addresses import Address, real_address
from gossamer.fetch.body import BodyLimit, read_body, read_headers
from gossamer.fetch.errors import (
    CLIENT_ERRORS,
    REFUSED_CREDENTIALS,
    FetchError,
    ProxyAway,
    is_from_there,
    spell_seconds,
    translate,
)
from gossamer.fetch.guard import Clearance, Guard
from gossamer.fetch.outage import Answers, Outage
from gossamer.fetch.rung import Accept, Before, MakeSession, Sink, Tools
from gossamer.model.document import Request, Response
from gossamer.model.rungs import DIRECT
from gossamer.model.trouble import Reason, Trouble


@dataclass(frozen=True, slots=True)
class Identity:
    """One browser on one system."""

    name: str
    user_agent: str
    emulation: Emulation
    spelling: OrigHeaderMap


_WINDOWS = "Windows NT 10.0; Win64; x64"
_MACOS = "Macintosh; Intel Mac OS X 10_15_7"

_CHROME_SPELLING = OrigHeaderMap(
    [
        "Host",
        "Connection",
        "sec-ch-ua",
        "sec-ch-ua-mobile",
        "sec-ch-ua-platform",
        "Upgrade-Insecure-Requests",
        "User-Agent",
        "Accept",
        "Sec-Fetch-Site",
        "Sec-Fetch-Mode",
        "Sec-Fetch-User",
        "Sec-Fetch-Dest",
        "Accept-Encoding",
        "Accept-Language",
        "Cookie",
        "Priority",
    ]
)
_FIREFOX_SPELLING = OrigHeaderMap(
    [
        "Host",
        "User-Agent",
        "Accept",
        "Accept-Language",
        "Accept-Encoding",
        "Connection",
        "Cookie",
        "Upgrade-Insecure-Requests",
        "Sec-Fetch-Dest",
        "Sec-Fetch-Mode",
        "Sec-Fetch-Site",
        "Sec-Fetch-User",
        "Priority",
        "TE",
    ]
)
_SAFARI_SPELLING = OrigHeaderMap(
    [
        "Host",
        "Sec-Fetch-Dest",
        "User-Agent",
        "Accept",
        "Sec-Fetch-Site",
        "Sec-Fetch-Mode",
        "Accept-Language",
        "Priority",
        "Accept-Encoding",
        "Cookie",
        "Connection",
    ]
)


def _chrome(name: str, system: str, platform: Platform) -> Identity:
    agent = f"Mozilla/5.0 ({system}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/154.0.0.0 Safari/537.36"
    return Identity(name, agent, Emulation(Profile.Chrome154, platform), _CHROME_SPELLING)


IDENTITIES: tuple[Identity, ...] = (
    _chrome("chrome-windows", _WINDOWS, Platform.Windows),
    _chrome("chrome-macos", _MACOS, Platform.MacOS),
    Identity(
        "firefox-windows",
        f"Mozilla/5.0 ({_WINDOWS}; rv:152.0) Gecko/20100101 Firefox/152.0",
        Emulation(Profile.Firefox152, Platform.Windows),
        _FIREFOX_SPELLING,
    ),
    Identity(
        "safari-macos",
        f"Mozilla/5.0 ({_MACOS}) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.4 Safari/605.1.15",
        Emulation(Profile.Safari26_4, Platform.MacOS),
        _SAFARI_SPELLING,
    ),
)


def pick(seed: int) -> Identity:
    """The identity of a seed: the same seed, the same browser."""
    return IDENTITIES[seed % len(IDENTITIES)]


_CLIENTS = 4
_METHODS = {"GET": Method.GET, "HEAD": Method.HEAD, "POST": Method.POST, "PUT": Method.PUT}
_PROXY_WANTS_CREDENTIALS = 407
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)

# What browsers read without complaint. The client's own limit of 100 headers is passed by sites that set many cookies.
_LENIENT = Http1Options(
    ignore_invalid_headers_in_responses=True,
    allow_spaces_after_header_name_in_responses=True,
    allow_obsolete_multiline_headers_in_responses=True,
    max_headers=256,
)


class HttpRung:
    """Shared state of a process's HTTP sessions, and their factory."""

    def __init__(
        self,
        guard: Guard,
        clock: Clock,
        *,
        connect_timeout: timedelta = timedelta(seconds=10),
        read_timeout: timedelta = timedelta(seconds=15),
        silence: timedelta = timedelta(seconds=10),
        trust: CertStore | None = None,
        proxy: str = "",
        runtime: Runtime | None = None,
        name: str = DIRECT.name,
    ) -> None:
        """`silence`: how long sent data may stay unacknowledged (TCP_USER_TIMEOUT).

        Shorter than any request's time limit, so that a recovered network does not deliver abandoned requests.
        """
        self.name = name
        self.guard = guard
        self.clock = clock
        self.connect_timeout = connect_timeout
        self.read_timeout = read_timeout
        self.silence = silence
        self.trust = trust
        self.proxy = Proxy.all(proxy) if proxy else None
        self.outage = Outage(clock)  # of the proxy
        self.answers = Answers(clock)
        # One thread of the client's is enough: there is a process per core already, and a polite one is mostly idle.
        self.runtime = runtime or Runtime(workers=1)

    def session(self, seed: int) -> "HttpSession":
        """Open a session for one visit; the seed decides which browser it imitates."""
        return HttpSession(self, pick(seed))


@asynccontextmanager
async def open_direct(tools: Tools) -> AsyncIterator[MakeSession]:
    """Open the rung; what its sessions share exists already."""
    yield tools.direct.session


@dataclass(frozen=True, slots=True)
class _Way:
    """A client, and the only clearances it may be used for."""

    client: Client
    clearance: Clearance  # of the first request
    far: frozenset[Address]  # addresses that may answer; empty behind a proxy

    def fits(self, clearance: Clearance) -> bool:
        made_for = self.clearance
        return (
            made_for.addresses == clearance.addresses
            and made_for.by_rule == clearance.by_rule
            and bool(made_for.authority) == bool(clearance.authority)
        )


class HttpSession:
    """A Fetcher: one identity, one cookie jar, at most four hosts at a time."""

    def __init__(self, rung: HttpRung, identity: Identity) -> None:
        self._rung = rung
        self._identity = identity
        self._jar = Jar()
        self._ways: OrderedDict[str, _Way] = OrderedDict()
        self._closed = False

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
        """One request; see Fetcher. The time limit covers the look-up, the connection and the last byte of the body."""
        if self._closed:
            raise RuntimeError("this session is closed")
        clock = self._rung.clock
        started = clock.monotonic()
        clearance = self._rung.guard.recall(url)
        left = timeout
        if clearance is None:
            clearance = await self._look_up(url, timeout)
            left = max(timeout - timedelta(seconds=clock.monotonic() - started), timedelta(milliseconds=1))
        if before is not None:
            await before()
        try:
            limit = BodyLimit(max_bytes, truncate)
            status, headers, body = await self._exchange(clearance, left, limit, accept, sink, request)
        except CLIENT_ERRORS as error:
            took = timedelta(seconds=clock.monotonic() - started)
            passed = timeout if took >= timeout else min(timeout, self._rung.read_timeout)
            told = translate(error, connect_timeout=self._rung.connect_timeout, timeout=passed)
            if isinstance(told, ProxyAway):
                self._rung.outage.begin(told.trouble.detail)
            if is_from_there(told):
                self._rung.answers.note(clearance, started)
            raise told from error
        return Response(url, url, status, headers, body, self._rung.name, clock.now())

    async def admit(self, url: str) -> None:
        await self._rung.guard.admit(url)

    async def close(self) -> None:
        # Dropping a client closes its idle connections; one that is still being read closes with the task that reads.
        self._closed = True
        self._ways.clear()

    async def _look_up(self, url: str, timeout: timedelta) -> Clearance:
        try:
            async with asyncio.timeout(timeout.total_seconds()):
                return await self._rung.guard.admit(url)
        except TimeoutError:
            raise FetchError(Trouble(Reason.TIMEOUT, spell_seconds(timeout))) from None

    async def _exchange(
        self,
        clearance: Clearance,
        timeout: timedelta,
        limit: BodyLimit,
        accept: Accept | None,
        sink: Sink | None,
        request: Request | None,
    ) -> tuple[int, dict[str, str], bytes]:
        way, began = self._way_for(clearance), self._rung.clock.monotonic()
        claimed = {"Host": clearance.authority} if clearance.authority else {}
        # The client's own time limit covers the body too, and costs nothing compared to a timer of the event loop.
        if request is None:
            asking = way.client.get(clearance.send, headers=claimed, timeout=timeout)
        else:
            method, headers = _METHODS[request.method], {**request.headers, **claimed}
            if request.body:
                asking = way.client.request(method, clearance.send, headers=headers, timeout=timeout, body=request.body)
            else:
                asking = way.client.request(method, clearance.send, headers=headers, timeout=timeout)
        async with asking as arrived:
            status = arrived.status.as_int()
            _check_far_end(arrived, status, way, self._rung.outage)
            self._rung.answers.note(clearance, began)
            headers = read_headers(arrived)
            if accept is not None and not accept(status, headers):
                await arrived.close()
                return status, headers, b""
            return status, headers, await read_body(arrived, headers, limit, sink if status == 200 else None)

    def _way_for(self, clearance: Clearance) -> _Way:
        """Return the client pinned to just these addresses: a new one if a later lookup has found others."""
        way = self._ways.get(clearance.host)
        if way is None or not way.fits(clearance):
            way = self._ways[clearance.host] = self._new_way(clearance)
        self._ways.move_to_end(clearance.host)
        if len(self._ways) > _CLIENTS:
            self._ways.popitem(last=False)
        return way

    def _new_way(self, clearance: Clearance) -> _Way:
        proxy = None if clearance.by_rule else self._rung.proxy
        # Proxies have names of their own, which are the operator's business: the system looks them up.
        pins = DnsOptions(system_dns=proxy is not None)
        pins.add_resolve(clearance.host, list(clearance.addresses))
        trust = self._rung.trust
        client = Client(
            runtime=self._rung.runtime,
            emulation=self._identity.emulation,
            orig_headers=self._identity.spelling,
            cookie_provider=self._jar,
            dns_options=pins,
            # Either of the two keeps the client from obeying proxy variables.
            **({"no_proxy": True} if proxy is None else {"proxies": [proxy]}),
            redirect=Policy.none(),
            connect_timeout=self._rung.connect_timeout,
            read_timeout=self._rung.read_timeout,
            tcp_user_timeout=self._rung.silence,
            pool_max_size=1,  # or http and https of a host would keep a connection each
            pool_max_idle_per_host=1,
            tls_verify=True if trust is None else trust,
            http1_options=_LENIENT,
            # HTTP/2 has no second place for the host a rule stands in for: servers refuse a Host that differs.
            http1_only=bool(clearance.authority),
            deflate=False,  # undone by us, in both of its readings
        )
        far = () if proxy is not None else clearance.addresses
        return _Way(client, clearance, frozenset(map(real_address, far)))


def read_trust(ca_file: Path) -> CertStore:
    """Return the certificates of a PEM file in addition to the system's own."""
    try:
        text = ca_file.read_text(encoding="utf-8")
        # The client passes over what it cannot read; this one does not.
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=text)
    except (OSError, ValueError) as error:
        raise UserError(
            "settings.invalid", f"GOSSAMER_CA_FILE is {str(ca_file)!r}, expected a readable file of PEM certificates."
        ) from error
    return CertStore(pem_certs=_CERTIFICATE.findall(text), default_paths=True)


def _check_far_end(arrived: Arrived, status: int, way: _Way, outage: Outage) -> None:
    """Raise for a response that does not come from the site: another machine's, or the proxy's own."""
    if not way.far:
        if status == _PROXY_WANTS_CREDENTIALS:
            outage.begin(REFUSED_CREDENTIALS)
            raise ProxyAway(Trouble(Reason.PROXY, REFUSED_CREDENTIALS))
        outage.end()
        return
    far = arrived.remote_addr
    if far is None or real_address(far.ip()) not in way.far:
        raise FetchError(Trouble(Reason.FORBIDDEN_ADDRESS, f"{way.clearance.host} was answered from elsewhere"))


_OUR_OWN = 200  # database, logs, pipes, the event loop, name look-ups
_PER_VISIT = 5  # a connection to each of the four hosts a session keeps, and one closing


def raise_open_files() -> int:
    """Raise the soft limit on open files to the hard one; returns the limit now in force."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == hard:
        return soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError):
        # macOS names a hard limit it does not grant; what is in force stays.
        return soft
    return hard


def capacity(limit: int) -> int:
    """Visits that fit under a limit on open files."""
    return max(1, (limit - _OUR_OWN) // _PER_VISIT)
