"""The direct rung: one HTTP request from this machine, as a browser would send it, to addresses the guard has checked.

A session is one visit's way out. It keeps one client per host, pinned to the checked addresses. A pinned client still
looks up every other name by itself, so it is only ever handed the host it was made for, follows no redirect and obeys
no proxy variable, and the address at the far end is compared once more when the answer comes.
"""

import asyncio
import re
import ssl
from collections import OrderedDict
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from wreq import Client, Http1Options
from wreq import Response as Arrived
from wreq.cookie import Jar
from wreq.dns import DnsOptions
from wreq.redirect import Policy
from wreq.runtime import Runtime
from wreq.tls import CertStore

from gossamer.clock import Clock
from gossamer.errors import UserError
from gossamer.fetch.addresses import Address, real_address
from gossamer.fetch.body import BodyLimit, read_body, read_headers
from gossamer.fetch.errors import CLIENT_ERRORS, FetchError, spell_seconds, translate
from gossamer.fetch.guard import Clearance, Guard
from gossamer.fetch.identity import Identity, pick
from gossamer.fetch.rung import Accept
from gossamer.model.fetching import DIRECT, Response
from gossamer.model.trouble import Reason, Trouble

_CLIENTS = 4
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)

# What browsers read without complaint. The client's own limit of 100 headers is passed by sites that set many cookies.
_LENIENT = Http1Options(
    ignore_invalid_headers_in_responses=True,
    allow_spaces_after_header_name_in_responses=True,
    allow_obsolete_multiline_headers_in_responses=True,
    max_headers=256,
)


class HttpRung:
    """What the sessions of a process share; makes them."""

    def __init__(
        self,
        guard: Guard,
        clock: Clock,
        *,
        connect_timeout: timedelta = timedelta(seconds=10),
        trust: CertStore | None = None,
        runtime: Runtime | None = None,
    ) -> None:
        self.guard = guard
        self.clock = clock
        self.connect_timeout = connect_timeout
        self.trust = trust
        # One thread of the client's is enough: there is a process per core already, and a polite one is mostly idle.
        self.runtime = runtime or Runtime(workers=1)

    def session(self, seed: int) -> "HttpSession":
        """A way out for one visit; the seed decides which browser it is."""
        return HttpSession(self, pick(seed))


@dataclass(frozen=True, slots=True)
class _Way:
    """A client, and the only clearances it may be used for."""

    client: Client
    host: str
    addresses: tuple[Address, ...]
    rerouted: bool

    def fits(self, clearance: Clearance) -> bool:
        return (self.host, self.addresses, self.rerouted) == (
            clearance.host,
            clearance.addresses,
            bool(clearance.authority),
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
        self, url: str, *, timeout: timedelta, max_bytes: int, accept: Accept | None = None, truncate: bool = False
    ) -> Response:
        """One request; see Fetcher. The time limit covers the look-up, the connection and the last byte of the body."""
        if self._closed:
            raise RuntimeError("this session is closed")
        clock = self._rung.clock
        started = clock.monotonic()
        try:
            async with asyncio.timeout(timeout.total_seconds()):
                clearance = await self._rung.guard.admit(url)
                status, headers, body = await self._exchange(clearance, BodyLimit(max_bytes, truncate), accept)
        except TimeoutError:
            raise FetchError(Trouble(Reason.TIMEOUT, spell_seconds(timeout))) from None
        except CLIENT_ERRORS as error:
            raise translate(error, self._rung.connect_timeout) from error
        return Response(
            requested=url,
            url=url,
            status=status,
            headers=headers,
            body=body,
            rung=DIRECT.name,
            fetched_at=clock.now(),
            elapsed=timedelta(seconds=clock.monotonic() - started),
        )

    async def admit(self, url: str) -> None:
        await self._rung.guard.admit(url)

    async def close(self) -> None:
        # Dropping a client closes its idle connections; one that is still being read closes with the task that reads.
        self._closed = True
        self._ways.clear()

    async def _exchange(
        self, clearance: Clearance, limit: BodyLimit, accept: Accept | None
    ) -> tuple[int, dict[str, str], bytes]:
        client = self._client_for(clearance)
        claimed = {"Host": clearance.authority} if clearance.authority else {}
        async with client.get(clearance.send, headers=claimed) as arrived:
            _check_far_end(arrived, clearance)
            status = arrived.status.as_int()
            headers = read_headers(arrived)
            if accept is not None and not accept(status, headers):
                await arrived.close()
                return status, headers, b""
            return status, headers, await read_body(arrived, headers, limit)

    def _client_for(self, clearance: Clearance) -> Client:
        """The client pinned to just these addresses: a new one when a later look-up has found others."""
        way = self._ways.get(clearance.host)
        if way is None or not way.fits(clearance):
            client = self._new_client(clearance)
            way = _Way(client, clearance.host, clearance.addresses, bool(clearance.authority))
            self._ways[clearance.host] = way
        self._ways.move_to_end(clearance.host)
        if len(self._ways) > _CLIENTS:
            self._ways.popitem(last=False)
        return way.client

    def _new_client(self, clearance: Clearance) -> Client:
        pins = DnsOptions()
        pins.add_resolve(clearance.host, list(clearance.addresses))
        trust = self._rung.trust
        return Client(
            runtime=self._rung.runtime,
            emulation=self._identity.emulation,
            orig_headers=self._identity.spelling,
            cookie_provider=self._jar,
            dns_options=pins,
            no_proxy=True,
            redirect=Policy.none(),
            connect_timeout=self._rung.connect_timeout,
            pool_max_idle_per_host=1,
            tls_verify=True if trust is None else trust,
            http1_options=_LENIENT,
            # HTTP/2 has no second place for the host a rule stands in for: servers refuse a Host that differs.
            http1_only=bool(clearance.authority),
            deflate=False,  # undone by us, in both of its readings
        )


def read_trust(ca_file: Path) -> CertStore:
    """The certificates of a PEM file, beside the system's own."""
    try:
        text = ca_file.read_text(encoding="utf-8")
        # The client passes over what it cannot read; this one does not.
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=text)
    except (OSError, ValueError) as error:
        raise UserError(
            "settings.invalid", f"GOSSAMER_CA_FILE is {str(ca_file)!r}, expected a readable file of PEM certificates."
        ) from error
    return CertStore(pem_certs=_CERTIFICATE.findall(text), default_paths=True)


def _check_far_end(arrived: Arrived, clearance: Clearance) -> None:
    far = arrived.remote_addr
    if far is None or real_address(far.ip()) not in {real_address(address) for address in clearance.addresses}:
        raise FetchError(Trouble(Reason.FORBIDDEN_ADDRESS, f"{clearance.host} was answered from elsewhere"))
