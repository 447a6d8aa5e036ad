"""What a process knows of the providers of this installation: made once, asked for a session by every visit."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

from wreq.runtime import Runtime
from wreq.tls import CertStore

from gossamer.clock import Clock
from gossamer.errors import UserError
from gossamer.fetch.errors import ProviderUnusable
from gossamer.fetch.forward import ForwardProxy, Way
from gossamer.fetch.guard import Guard
from gossamer.fetch.never import NOTHING, NeverVisit
from gossamer.fetch.providers import firecrawl, scraperapi, scrapingbee
from gossamer.fetch.providers.firecrawl import Firecrawl
from gossamer.fetch.providers.flaresolverr import FlareSolverr
from gossamer.fetch.providers.fuse import Fuse
from gossamer.fetch.providers.line import Line
from gossamer.fetch.providers.scraperapi import ScraperApi
from gossamer.fetch.providers.scrapingbee import ScrapingBee
from gossamer.fetch.providers.seam import Account, Provider
from gossamer.fetch.providers.seats import Seats
from gossamer.fetch.providers.session import ProviderSession
from gossamer.gate import Breakers, Places
from gossamer.gate.breakers import NoBreakers
from gossamer.model.breaker import OWN_SERVER, PROVIDER
from gossamer.model.rungs import OWN_SERVERS, PROVIDER_RUNGS, provider_of, whose_line

_PATIENCE = timedelta(seconds=20)  # with seats that are all taken
_BELIEVED = timedelta(minutes=5)  # see Fuse


@dataclass(frozen=True, slots=True)
class Access:
    """How one provider is reached."""

    key: str = field(default="", repr=False)
    url: str = ""  # empty: the provider's own
    at_once: int | None = None  # calls beside each other, where its books would not say
    worst: Mapping[str, int] = field(default_factory=dict)  # credits that are put aside for a call, by rung


@dataclass(frozen=True, slots=True)
class OwnKey:
    """A key that came with a job. What it meets is nobody else's business: it has seats and a breaker of its own."""

    whose: str
    key: str = field(repr=False)


_Make = Callable[[str, Access, int | None], Provider]


@dataclass(frozen=True, slots=True)
class _Known:
    make: _Make | None  # None: its browser goes out through us
    url: str
    missing: Callable[[Access], str]  # the setting without which it cannot be used


def _key_of(name: str) -> Callable[[Access], str]:
    return lambda access: "" if access.key else f"GOSSAMER_{name}_KEY"


def _scrapingbee(rung: str, access: Access, session: int | None) -> Provider:
    return ScrapingBee(rung, access.key, access.url, session)


def _scraperapi(rung: str, access: Access, session: int | None) -> Provider:
    return ScraperApi(rung, access.key, access.url, session, access.worst.get(rung))


def _firecrawl(rung: str, access: Access, session: int | None) -> Provider:
    return Firecrawl(rung, access.key, access.url, session)


_KNOWN: Mapping[str, _Known] = {
    "scrapingbee": _Known(_scrapingbee, scrapingbee.URL, _key_of("SCRAPINGBEE")),
    "scraperapi": _Known(_scraperapi, scraperapi.URL, _key_of("SCRAPERAPI")),
    "flaresolverr": _Known(None, "", lambda access: "" if access.url else "GOSSAMER_FLARESOLVERR_URL"),
    "firecrawl": _Known(_firecrawl, firecrawl.URL, _key_of("FIRECRAWL")),
}


class ProviderDesk:
    """One per process and event loop."""

    def __init__(
        self,
        access: Mapping[str, Access],
        clock: Clock,
        places: Places,
        *,
        holder: str,
        breakers: Breakers | None = None,
        at_once: int = 500,
        never_send: NeverVisit = NOTHING,
        patience: timedelta = _PATIENCE,
        believed: timedelta = _BELIEVED,
        proxy: str = "",
        trust: CertStore | None = None,
        runtime: Runtime | None = None,
        forward: ForwardProxy | None = None,
    ) -> None:
        """Without `forward` no session of FlareSolverr can be had: its browser would go anywhere."""
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
        self._lines: dict[str, Line] = {}

    @property
    def rungs(self) -> tuple[str, ...]:
        """Those that can be used here, cheapest first within a provider."""
        return tuple(rung for rung in PROVIDER_RUNGS if not self._missing(provider_of(rung)))

    def session(
        self, rung: str, guard: Guard, session: int | None = None, own: OwnKey | None = None
    ) -> ProviderSession:
        """A Fetcher for one visit. With a `session` its calls come from one address, as far as the provider can."""
        name = provider_of(rung)
        access = self._access_to(rung, own)
        make = _KNOWN[name].make
        way: Way | None = None
        if make is not None:
            provider = make(rung, access, session)
        elif self._forward is not None:
            way = self._forward.open_way()
            provider = FlareSolverr(access.url, way)
        else:
            raise RuntimeError(f"{name} without a forward proxy")
        line = self._line(name, own)
        return ProviderSession(rung, provider, line, guard, self._never_send, self._clock, self._patience, way)

    def resting(self, rung: str, own: OwnKey | None = None) -> ProviderUnusable | None:
        """Why no call can be made on a rung at the moment, as far as this process knows; nothing for one of our own."""
        line = self._lines.get(_line_name(provider_of(rung), own))
        return line.fuse.resting() if line else None

    def forget(self, known: Collection[str]) -> None:
        """Hang up the lines of those who had a key of their own and are not among the `known` any more."""
        gone = [name for name in self._lines if (whose := whose_line(name)) and whose not in known]
        for name in gone:
            del self._lines[name]

    async def account(self, provider: str) -> Account | None:
        """What the provider's own books say now; None where it has none or they cannot be read."""
        books = self._books(provider)
        return await self._line(provider).account(books) if books else None

    async def read_books(self, provider: str) -> Account | None:
        """The same; None where it has none. Raises Unread where they cannot be read."""
        books = self._books(provider)
        return await self._line(provider).read_books(books) if books else None

    def _books(self, provider: str) -> Provider | None:
        rung = next(name for name in PROVIDER_RUNGS if provider_of(name) == provider)
        access, make = self._access_to(rung), _KNOWN[provider].make
        return make(rung, access, None) if make else None

    def _access_to(self, rung: str, own: OwnKey | None = None) -> Access:
        name = provider_of(rung)
        if own is not None:
            return replace(self._access.get(name, Access()), key=own.key)
        missing = self._missing(name)
        if missing:
            raise UserError(
                "provider.missing",
                f"The rung {rung} cannot be used here: {missing} is not set.",
                hint="Set it in the environment, or choose another mode. See docs/howto/use-a-provider.md.",
            )
        return self._access[name]

    def _missing(self, provider: str) -> str:
        return _KNOWN[provider].missing(self._access.get(provider, Access()))

    def _line(self, provider: str, own: OwnKey | None = None) -> Line:
        name = _line_name(provider, own)
        line = self._lines.get(name)
        if line is None:
            access = self._access.get(provider, Access())
            most = min(self._at_once, access.at_once or self._at_once)
            seats = Seats(self._places, f"provider:{name}", self._holder, most)
            url = access.url or _KNOWN[provider].url
            self._runtime = self._runtime or Runtime(workers=1)
            fuse = Fuse(
                self._breakers, name, OWN_SERVER if name in OWN_SERVERS else PROVIDER, self._clock, self._believed
            )
            line = Line(seats, fuse, self._clock, url, most, self._runtime, proxy=self._proxy, trust=self._trust)
            self._lines[name] = line
        return line


def _line_name(provider: str, own: OwnKey | None) -> str:
    """As its seats and its breaker are called, and as the provider is in what these say."""
    return f"{provider}:{own.whose}" if own else provider
