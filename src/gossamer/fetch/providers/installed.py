"""The providers of this installation: created once per process; every visit opens a session."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

from wreq.runtime import Runtime
from wreq.tls import CertStore

from gossamer.clock import Clock
from gossamer.errors import UserError
from gossamer.fetch.deny_list import NOTHING, DenyList
from gossamer.fetch.errors import ProviderUnusable
from gossamer.fetch.forward_proxy import ForwardProxy, Permit
from gossamer.fetch.guard import Guard
from gossamer.fetch.providers.base import Opener, ProviderAccount, ProviderApi, Wish
from gossamer.fetch.providers.circuit_breaker import ProviderBreaker
from gossamer.fetch.providers.concurrency import CallSlots
from gossamer.fetch.providers.provider_client import ProviderClient
from gossamer.fetch.providers.session import ProviderSession
from gossamer.gate import Breakers, Places
from gossamer.gate.breakers import NoBreakers
from gossamer.model.breaker import OWN_SERVER, PROVIDER
from gossamer.model.registry import resolve
from gossamer.model.rungs import RUNGS, Provider, job_of_key, provider_of, providers

_PATIENCE = timedelta(seconds=20)  # while all slots are taken
_BELIEVED = timedelta(minutes=5)  # see Fuse


@dataclass(frozen=True, slots=True)
class ProviderAccess:
    """Credentials, URL and limits for one provider."""

    key: str = field(default="", repr=False)
    url: str = ""  # empty: the provider's own
    at_once: int | None = None  # concurrent calls, where its account does not report them
    worst: Mapping[str, int] = field(default_factory=dict)  # credits that are put aside for a call, by rung


@dataclass(frozen=True, slots=True)
class OwnKey:
    """A key that came with a job.

    It has its own slots and circuit breaker, so its failures affect no other key.
    """

    whose: str
    key: str = field(repr=False)


class Providers:
    """The providers of a process. One per process and event loop."""

    def __init__(
        self,
        access: Mapping[str, ProviderAccess],
        clock: Clock,
        places: Places,
        *,
        holder: str,
        breakers: Breakers | None = None,
        at_once: int = 500,
        never_send: DenyList = NOTHING,
        patience: timedelta = _PATIENCE,
        believed: timedelta = _BELIEVED,
        proxy: str = "",
        trust: CertStore | None = None,
        runtime: Runtime | None = None,
        forward: ForwardProxy | None = None,
    ) -> None:
        """Without the proxy `forward`, FlareSolverr cannot be used: its browser's requests would be unchecked."""
        self._access = access
        self._forward = forward
        self._clock = clock
        self._places = places
        self._breakers = breakers or NoBreakers()
        self._holder = holder  # tells this process's calls from those of others
        self._at_once = at_once
        self._never_send = never_send
        self._patience = patience
        self._believed = believed
        self._proxy = proxy
        self._trust = trust
        self._runtime = runtime
        self._clients: dict[str, ProviderClient] = {}

    @property
    def rungs(self) -> tuple[str, ...]:
        """Return the rungs that can be used here, cheapest first within a provider."""
        return tuple(name for name, rung in RUNGS.items() if rung.provider and not self._missing(rung.provider))

    def session(
        self, rung: str, guard: Guard, session: int | None = None, own: OwnKey | None = None
    ) -> ProviderSession:
        """A Fetcher for one visit. With a `session` its calls come from one address, as far as the provider can."""
        row = _provider(rung)
        access = self._access_to(rung, own)
        way: Permit | None = None
        if row.is_browser:
            if self._forward is None:
                raise RuntimeError(f"{row.name} without a forward proxy")
            way = self._forward.open_way()
        provider = _make(row, Wish(rung, access.key, access.url, session, access.worst.get(rung), way))
        client = self._client(row.name, own)
        return ProviderSession(rung, provider, client, guard, self._never_send, self._clock, self._patience, way)

    def resting(self, rung: str, own: OwnKey | None = None) -> ProviderUnusable | None:
        """Return the locally known reason why no call can be made on a rung now; None for our own rungs."""
        client = self._clients.get(_client_name(provider_of(rung), own))
        return client.breaker.resting() if client else None

    def forget(self, known: Collection[str]) -> None:
        """Drop the clients of jobs with a key of their own that are not among the `known` jobs any more."""
        gone = [name for name in self._clients if (whose := job_of_key(name)) and whose not in known]
        for name in gone:
            del self._clients[name]

    async def account(self, provider: str) -> ProviderAccount | None:
        """Return the usage of the provider account; None if it reports none or cannot be read."""
        books = self._books(provider)
        return await self._client(provider).account(books) if books else None

    async def read_books(self, provider: str) -> ProviderAccount | None:
        """Read the usage of the provider account; None if there is none. Raises Unread if it cannot be read."""
        books = self._books(provider)
        return await self._client(provider).read_books(books) if books else None

    def _books(self, provider: str) -> ProviderApi | None:
        """Return the provider on its first rung, to ask for its account; None for a browser, which has none."""
        rung = next(name for name in RUNGS if provider_of(name) == provider)
        access, row = self._access_to(rung), providers()[provider]
        return None if row.is_browser else _make(row, Wish(rung, access.key, access.url, worst=access.worst.get(rung)))

    def _access_to(self, rung: str, own: OwnKey | None = None) -> ProviderAccess:
        row = _provider(rung)
        if own is not None:
            return replace(self._access.get(row.name, ProviderAccess()), key=own.key)
        missing = self._missing(row)
        if missing:
            raise UserError(
                "provider.missing",
                f"The method {rung} cannot be used here: {missing} is not set.",
                hint="Set it in the environment, or choose another mode. See docs/howto/use-a-provider.md.",
            )
        return self._access.get(row.name, ProviderAccess())

    def _missing(self, row: Provider) -> str:
        """Return the setting without which the provider cannot be used."""
        access = self._access.get(row.name, ProviderAccess())
        given = ((row.key, access.key), (row.address, access.url))
        return next((one.variable for one, value in given if one and one.is_required and not value), "")

    def _client(self, provider: str, own: OwnKey | None = None) -> ProviderClient:
        name = _client_name(provider, own)
        client = self._clients.get(name)
        if client is None:
            row, access = providers()[provider], self._access.get(provider, ProviderAccess())
            most = min(self._at_once, access.at_once or self._at_once)
            slots = CallSlots(self._places, f"provider:{name}", self._holder, most)
            self._runtime = self._runtime or Runtime(workers=1)
            rule = OWN_SERVER if row.is_own_server else PROVIDER
            breaker = ProviderBreaker(self._breakers, name, rule, self._clock, self._believed)
            url = access.url or row.url
            client = ProviderClient(
                slots, breaker, self._clock, url, most, self._runtime, proxy=self._proxy, trust=self._trust
            )
            self._clients[name] = client
        return client


def _provider(rung: str) -> Provider:
    row = RUNGS[rung].provider
    if row is None:
        raise RuntimeError(f"{rung} has no provider")
    return row


def _make(row: Provider, wish: Wish) -> ProviderApi:
    make: Opener = resolve(row.opener)
    return make(wish)


def _client_name(provider: str, own: OwnKey | None) -> str:
    """Return the name of the provider's slots and circuit breaker, and of the provider in their messages."""
    return f"{provider}:{own.whose}" if own else provider
