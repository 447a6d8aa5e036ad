"""The ways to fetch, one row each, and the ladders made of them. Everything that has to know which ways there are
reads this table.

A row and the file it names in `opener` are all that a new way needs: see "A rung" in CONTRIBUTING.md. Modes, time
limits, prices, labels, settings, and which of those are secrets, come from here.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from enum import StrEnum
from typing import NamedTuple

from gossamer.model.registry import Registry


class Lane(StrEnum):
    """A kind of worker. A site has at most one visit in each of the first three lanes; `desk` is for other work."""

    HTTP = "http"
    BROWSER = "browser"
    STEALTH = "stealth"
    DESK = "desk"


HOME_LANE = Lane.HTTP
"""The lane of the visit every site has. It chooses the site's pages, whichever lane fetches them."""


class Form(StrEnum):
    """Format of a setting."""

    KEY = "key"  # a secret: never shown, never logged, and not taken from gossamer.toml
    ADDRESS = "address"  # of a server: not taken from a gossamer.toml in a working folder
    NUMBER = "number"  # above 0


@dataclass(frozen=True, slots=True)
class RungSetting:
    """Operator's setting of a rung: `GOSSAMER_` and the name in upper case."""

    name: str
    form: Form
    meaning: str
    expected: str
    is_required: bool = False  # the rung is available once all required settings are set
    default: int | None = None  # of a number setting
    spellings: tuple[str, ...] = ()  # other accepted names of the variable

    @property
    def variable(self) -> str:
        return f"GOSSAMER_{self.name.upper()}"

    @property
    def is_secret(self) -> bool:
        return self.form is Form.KEY


@dataclass(frozen=True, slots=True)
class Provider:
    """A service that fetches pages for us, on one rung or several."""

    name: str  # in bills, breakers and settings
    title: str  # official spelling
    opener: str  # "module:function" that makes its client for one visit: see fetch/providers/base.py
    url: str = ""  # base URL; "" if the operator runs the server
    key: RungSetting | None = None
    address: RungSetting | None = None
    concurrency: RungSetting | None = None  # concurrent calls, if its account does not report a limit
    is_own_server: bool = False  # run by the operator: free, tried before paid rungs, and no job waits for it
    is_browser: bool = False  # follows redirects and loads resources itself, so it uses our forward proxy
    takes_job_keys: bool = False  # a job may have its own key
    names_renewal: bool = False  # its account reports the renewal date of the credits

    @property
    def settings(self) -> tuple[RungSetting, ...]:
        return tuple(one for one in (self.key, self.address, self.concurrency) if one is not None)

    @property
    def access(self) -> RungSetting | None:
        """The required setting: the key, or the address if there is no key."""
        return self.key or self.address


@dataclass(frozen=True, slots=True)
class Cost:
    """Provider credits of one request."""

    worst: int  # maximum price, which is reserved
    by_outcome: Mapping[str, int] = field(hash=False)  # for estimates: `ok`, `404`, `failed`

    @property
    def usual(self) -> int:
        """The price of a page that arrives."""
        return self.by_outcome.get("ok", self.worst)


class RequestKind(StrEnum):
    """Kinds by which reports count requests."""

    DIRECT = "direct"
    PROVIDER = "provider"
    RENDERED = "rendered"  # by a browser, our own or a provider's


PAID_ACCOUNT_CREDITS = 10
"""Default account credits for a page read by a provider."""


@dataclass(frozen=True, slots=True)
class Rung:
    """One way to fetch. The name is what users see as crawl_method."""

    name: str
    lane: Lane
    label: str = ""  # in reports; the name when empty
    timeout: timedelta = timedelta(seconds=15)
    retries: int = 3  # after the first try
    renders: bool = False  # runs the scripts of a page
    json: bool = False  # returns data instead of pages
    provider: Provider | None = None
    opener: str = ""  # without a provider: "module:function", see fetch/rung.py
    cost: Cost | None = None  # in provider credits; None: it is free
    account_credits: int = PAID_ACCOUNT_CREDITS  # price of a page for our own accounts
    in_hybrid: bool = False  # a paid rung of the mode `hybrid`
    in_premium: bool = False  # the rung with which the mode `premium-only` renders everything
    own_settings: tuple[RungSetting, ...] = ()  # without a provider

    @property
    def settings(self) -> tuple[RungSetting, ...]:
        return self.provider.settings if self.provider else self.own_settings

    @property
    def is_paid(self) -> bool:
        return self.cost is not None

    @property
    def is_plain(self) -> bool:
        """True if requests go to the site without a provider or browser, so response times describe the site."""
        return not self.renders and self.provider is None

    @property
    def is_own_server(self) -> bool:
        return self.provider is not None and self.provider.is_own_server

    @property
    def can_open(self) -> bool:
        """True if there is code that fetches with the rung. Tests may use a server in place of a rung without code."""
        return bool(self.provider or self.opener)

    @property
    def kind(self) -> RequestKind:
        if self.renders:
            return RequestKind.RENDERED
        return RequestKind.PROVIDER if self.provider else RequestKind.DIRECT


def _key(provider: str, title: str) -> RungSetting:
    return RungSetting(f"{provider}_key", Form.KEY, f"Key to {title}", "a key without spaces", is_required=True)


# Providers

SCRAPINGBEE = Provider(
    "scrapingbee",
    "ScrapingBee",
    "gossamer.fetch.providers.scrapingbee:open_scrapingbee",
    "https://app.scrapingbee.com/api/v1",
    key=_key("scrapingbee", "ScrapingBee"),
    address=RungSetting(
        "scrapingbee_url",
        Form.ADDRESS,
        "Server of ScrapingBee, where it is not its own",
        "an address such as http://127.0.0.1:8910/api/v1",
    ),
    names_renewal=True,
)
SCRAPERAPI = Provider(
    "scraperapi",
    "ScraperAPI",
    "gossamer.fetch.providers.scraperapi:open_scraperapi",
    "https://api.scraperapi.com",
    key=_key("scraperapi", "ScraperAPI"),
    address=RungSetting(
        "scraperapi_url",
        Form.ADDRESS,
        "Server of ScraperAPI, where it is not its own",
        "an address such as http://127.0.0.1:8911",
    ),
)
FIRECRAWL = Provider(
    "firecrawl",
    "Firecrawl",
    "gossamer.fetch.providers.firecrawl:open_firecrawl",
    "https://api.firecrawl.dev/v2",
    key=_key("firecrawl", "Firecrawl"),
    address=RungSetting(
        "firecrawl_url",
        Form.ADDRESS,
        "Server of Firecrawl with the version of its interface, where it is not its own",
        "an address such as https://firecrawl.example.com/v2",
    ),
    takes_job_keys=True,
)
FLARESOLVERR = Provider(
    "flaresolverr",
    "FlareSolverr",
    "gossamer.fetch.providers.flaresolverr:open_flaresolverr",
    address=RungSetting(
        "flaresolverr_url",
        Form.ADDRESS,
        "Your FlareSolverr",
        "an address such as http://127.0.0.1:8191",
        is_required=True,
        spellings=("FLARESOLVERR_URL",),
    ),
    concurrency=RungSetting(
        "flaresolverr_concurrency",
        Form.NUMBER,
        "Pages your FlareSolverr loads at once, each in a browser of its own",
        "a whole number above 0",
        default=4,
    ),
    is_own_server=True,
    is_browser=True,
)

# Rungs. The time limits of providers are long because they retry internally, and because a cancelled call is charged
# anyway.

PRICES_READ = date(2026, 8, 21)
"""Date of the last check of the providers' price lists."""

DIRECT = Rung("direct", Lane.HTTP, "Direct (free)", opener="gossamer.fetch.http:open_direct", account_credits=1)
"""The plain request from this machine. robots.txt and sitemaps are always requested this way."""

_PAGE_LOAD = timedelta(seconds=60)


def _scrapingbee(
    name: str, way: str, seconds: int, credits: int, *, renders: bool = False, hybrid: bool = False
) -> Rung:
    # Missing pages and calls beyond the concurrency limit are charged, failures of the provider are not.
    cost = Cost(credits, {"ok": credits, "404": credits, "429": credits, "failed": 0})
    return Rung(
        name,
        Lane.HTTP,
        f"ScrapingBee ({way})",
        timedelta(seconds=seconds),
        renders=renders,
        provider=SCRAPINGBEE,
        cost=cost,
        in_hybrid=hybrid,
        in_premium=hybrid and renders,
    )


# ScraperAPI adds a price for the class of the domain (30 at most) and 10 for each bot protection it bypasses. The worst
# price includes one protection; the request tells it to refuse anything more expensive.
_CLASS = 30
_PROTECTION = 10


def _scraperapi(name: str, way: str, credits: int, *, renders: bool = False, hybrid: bool = False) -> Rung:
    return Rung(
        name,
        Lane.HTTP,
        f"ScraperAPI ({way})",
        timedelta(seconds=100),  # it always retries for 70 seconds
        renders=renders,
        provider=SCRAPERAPI,
        cost=Cost(credits + _CLASS + _PROTECTION, {"ok": credits, "404": credits, "failed": 0}),
        in_hybrid=hybrid,
        in_premium=hybrid and renders,
    )


RUNGS = Registry(
    "rung",
    Rung,
    (
        DIRECT,
        Rung("browser", Lane.BROWSER, "Browser (free)", _PAGE_LOAD, renders=True, account_credits=5),
        Rung("stealth", Lane.STEALTH, "Stealth (free)", _PAGE_LOAD, renders=True, account_credits=10),
        _scrapingbee("scrapingbee-standard", "standard", 75, 1, hybrid=True),
        _scrapingbee("scrapingbee-js", "JS rendering", 90, 5, renders=True, hybrid=True),
        _scrapingbee("scrapingbee-premium", "premium", 90, 10),
        _scrapingbee("scrapingbee-premium-js", "premium, JS rendering", 120, 25, renders=True),
        # It accepts no time limit; its own is 140 seconds.
        _scrapingbee("scrapingbee-stealth", "stealth", 170, 75, renders=True),
        _scraperapi("scraperapi", "standard", 1, hybrid=True),
        _scraperapi("scraperapi-js", "JS rendering", 10, renders=True, hybrid=True),
        _scraperapi("scraperapi-premium", "premium", 10),
        _scraperapi("scraperapi-premium-js", "premium, JS rendering", 25, renders=True),
        _scraperapi("scraperapi-ultra", "ultra", 30),
        _scraperapi("scraperapi-ultra-js", "ultra, JS rendering", 75, renders=True),
        Rung(
            "flaresolverr",
            Lane.HTTP,
            "FlareSolverr (free)",
            timedelta(seconds=80),  # 60 for the page, the rest for the start of its browser
            retries=1,
            renders=True,
            provider=FLARESOLVERR,
            account_credits=5,
        ),
        Rung(
            "firecrawl",
            Lane.HTTP,
            "Firecrawl",
            timedelta(seconds=75),
            renders=True,
            provider=FIRECRAWL,
            # Charged whatever the site answers; a better proxy, which it may choose automatically, costs five.
            cost=Cost(5, {"ok": 1, "404": 1, "403": 1, "failed": 0}),
            in_hybrid=True,
            in_premium=True,
        ),
    ),
)
"""Rungs by name, in the order in which `hybrid` prefers providers. The settings decide which are available."""

PAID_BY_TRAFFIC = "residential"
"""Name in GOSSAMER_PRICES of proxies paid by traffic. It is not a rung: rungs send requests through such proxies."""


def providers() -> dict[str, Provider]:
    """Return the providers of all rungs, by name."""
    return {rung.provider.name: rung.provider for rung in RUNGS.values() if rung.provider}


def provider_of(rung: str) -> str:
    """Return the name of a rung's provider; "" for a rung without provider or an unknown one."""
    row = RUNGS.get(rung)
    return row.provider.name if row and row.provider else ""


def provider_title(name: str) -> str:
    """Return the display name, such as `ScrapingBee`; for an unknown provider its name, capitalised."""
    provider = providers().get(name)
    return provider.title if provider else name.capitalize()


def label_of(rung: str) -> str:
    """Return the label, such as `ScrapingBee (JS rendering)`; for an unknown rung its name, capitalised."""
    row = RUNGS.get(rung)
    return (row.label if row else "") or rung.capitalize()


def kind_of(rung: str) -> RequestKind:
    """Return the kind of a rung's requests; an unknown rung counts as a provider's."""
    row = RUNGS.get(rung)
    return row.kind if row else RequestKind.PROVIDER


def by_usual_cost(names: Iterable[str]) -> list[str]:
    """Sort rungs by their usual price, cheapest first; free and unknown ones come first, by name."""

    def usual(name: str) -> int:
        row = RUNGS.get(name)
        return row.cost.usual if row and row.cost else 0

    return sorted(names, key=lambda name: (usual(name), name))


def all_settings() -> Iterator[RungSetting]:
    """Yield the settings of all rungs, each once."""
    return iter(dict.fromkeys(one for rung in RUNGS.values() for one in rung.settings))


def job_of_key(line: str) -> str:
    """Return the job from the name of a breaker for a job's own provider key; "" for the operator's key."""
    return line.partition(":")[2]


class Experience(NamedTuple):
    """Counts of a rung's recent tries and successes."""

    tries: int = 0
    wins: int = 0

    @property
    def rate(self) -> float:
        return self.wins / self.tries if self.tries else 0.0


@dataclass(frozen=True, slots=True)
class Ladder:
    """Rungs in the order they are tried, and requested rungs that are not available in this installation."""

    rungs: tuple[Rung, ...] = (DIRECT,)
    missing: tuple[Rung, ...] = ()

    @property
    def first(self) -> Rung:
        return self.rungs[0]

    def above(self, name: str, *, rendering: bool = False) -> Rung | None:
        """Return the next rung after the named one, or the next that renders; None if there is none."""
        names = [rung.name for rung in self.rungs]
        higher = self.rungs[names.index(name) + 1 :]
        return next((rung for rung in higher if rung.renders or not rendering), None)

    def beyond(self, name: str) -> Rung | None:
        """Return the next rung of another provider with at least the same abilities, for when a provider is down."""
        names = [rung.name for rung in self.rungs]
        here = self.named(name)
        others = (rung for rung in self.rungs[names.index(name) + 1 :] if _serves(rung) != _serves(here))
        return next((rung for rung in others if rung.renders or not here.renders), None)

    def without(self, names: Set[str]) -> "Ladder":
        """Return the ladder without these rungs."""
        return replace(self, rungs=tuple(rung for rung in self.rungs if rung.name not in names)) if names else self

    def lacks(self, *, rendering: bool = False) -> Rung | None:
        """Return the first missing rung that would have been next if it were available; None if there is none."""
        return next((rung for rung in self.missing if rung.renders or not rendering), None)

    def named(self, name: str) -> Rung:
        return next(rung for rung in self.rungs if rung.name == name)


def _serves(rung: Rung) -> str:
    return provider_of(rung.name) or rung.name


class Mode(StrEnum):
    """A named ladder; `own` is a custom list of rungs."""

    FREE_ONLY = "free-only"
    HYBRID = "hybrid"
    PREMIUM_ONLY = "premium-only"
    OWN = "own"


@dataclass(frozen=True, slots=True)
class _Paid:
    """Rungs of a provider in the modes: those that `hybrid` climbs, and the one of `premium-only`."""

    climbs: tuple[str, ...]
    renders: str  # "" where it renders nothing

    @property
    def best(self) -> str:
        return self.renders or self.climbs[-1]


def _paid() -> list[_Paid]:
    """Return the rungs of all providers for the modes, the preferred provider first."""
    found: dict[str, list[Rung]] = {}
    for rung in RUNGS.values():
        if rung.in_hybrid or rung.in_premium:
            found.setdefault(_serves(rung), []).append(rung)
    return [
        _Paid(
            tuple(rung.name for rung in rungs if rung.in_hybrid),
            next((rung.name for rung in rungs if rung.in_premium), ""),
        )
        for rungs in found.values()
    ]


def names_of(mode: Mode, here: Collection[str]) -> tuple[str, ...]:
    """Return the complete ladder of a mode with the first available provider, or the preferred one if none is.

    In `hybrid`, servers of the operator come before paid rungs.
    """
    paid = [one for one in _paid() if one.renders or mode is not Mode.PREMIUM_ONLY]
    usable = [one for one in paid if one.best in here]
    chosen = (usable or paid)[0]
    match mode:
        case Mode.HYBRID:
            own = tuple(name for name, rung in RUNGS.items() if rung.is_own_server and name in here)
            # With a server of the operator's own, a provider is optional.
            return (DIRECT.name, *own, *(chosen.climbs if usable or not own else ()))
        case Mode.PREMIUM_ONLY:
            return (chosen.renders,)
        case Mode.FREE_ONLY | Mode.OWN:
            return (DIRECT.name,)


def premium_rung(names: Sequence[str]) -> str:
    """Return the rung on which `premium-only` would render everything, at the ladder's provider; "" if none."""
    used = {provider_of(name) for name in names}
    return next((one.renders for one in _paid() if one.renders and provider_of(one.renders) in used), "")


def ladder_of(mode: Mode, names: Sequence[str]) -> Ladder:
    """Return a job's ladder as stored at its creation, with the rungs that were not available then."""
    rungs = tuple(RUNGS[name] for name in names) or (DIRECT,)
    cut = [name for name in names_of(mode, ()) if name not in names] if mode is Mode.HYBRID and len(rungs) == 1 else ()
    return Ladder(rungs, tuple(RUNGS[name] for name in cut))
