"""The ways to fetch, one row each. Everything that has to know which ways there are reads this table.

A row and the file it names in `opener` are all that a new way needs: see "A rung" in CONTRIBUTING.md. Modes, time
limits, prices, labels, settings, and which of those are secrets, come from here.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from enum import StrEnum
from typing import NamedTuple

from gossamer.model.registry import Registry


class Lane(StrEnum):
    """A kind of worker. A site has at most one visit in each of the first three; what is not a visit waits at desks."""

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
    is_required: bool = False  # the way can be used once all of these are set
    default: int | None = None  # of a number
    spellings: tuple[str, ...] = ()  # other names that the variable has

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
    title: str  # as its makers write it
    opener: str  # "module:function" that makes what speaks to it for one visit: see fetch/providers/base.py
    url: str = ""  # its own server; none where the operator runs it
    key: RungSetting | None = None
    address: RungSetting | None = None
    concurrency: RungSetting | None = None  # calls at once, where its account does not say
    is_own_server: bool = False  # the operator's: free, worth a try before anything paid, and no job waits for it
    is_browser: bool = False  # follows redirects and loads what pages name, so it goes out through our forward proxy
    takes_job_keys: bool = False  # a job may bring a key of its own
    names_renewal: bool = False  # its account says on which day the credits are renewed

    @property
    def settings(self) -> tuple[RungSetting, ...]:
        return tuple(one for one in (self.key, self.address, self.concurrency) if one is not None)

    @property
    def access(self) -> RungSetting | None:
        """The setting that opens it: the key, or the address where it has no key."""
        return self.key or self.address


@dataclass(frozen=True, slots=True)
class Cost:
    """Provider credits of one request."""

    worst: int  # it can never cost more: this much is reserved
    by_outcome: Mapping[str, int] = field(hash=False)  # for estimates: `ok`, `404`, `failed`

    @property
    def usual(self) -> int:
        """Of a page that arrives."""
        return self.by_outcome.get("ok", self.worst)


class RequestKind(StrEnum):
    """Kinds by which reports count requests."""

    DIRECT = "direct"
    PROVIDER = "provider"
    RENDERED = "rendered"  # by a browser, whoever runs it


PAID_ACCOUNT_CREDITS = 10
"""What an account of ours pays for a page that a provider has read, where its row says nothing else."""


@dataclass(frozen=True, slots=True)
class Rung:
    """One way to fetch. The name is what users see as crawl_method."""

    name: str
    lane: Lane
    label: str = ""  # in reports; the name when empty
    timeout: timedelta = timedelta(seconds=15)
    retries: int = 3  # after the first try
    renders: bool = False  # it runs the scripts of a page
    json: bool = False  # what it brings is data and no page
    provider: Provider | None = None
    opener: str = ""  # where there is no provider: "module:function", see fetch/rung.py
    cost: Cost | None = None  # in provider credits; None: it is free
    account_credits: int = PAID_ACCOUNT_CREDITS  # what an account of ours pays for a page
    in_hybrid: bool = False  # a paid rung that the mode `hybrid` climbs
    in_premium: bool = False  # the rung with which the mode `premium-only` renders everything
    own_settings: tuple[RungSetting, ...] = ()  # where there is no provider

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

# Rungs. The time limits of providers are long because they try again by themselves before they answer, and because a
# call that is given up is charged all the same.

PRICES_READ = date(2026, 8, 21)
"""When the providers' own price lists were last read."""

DIRECT = Rung("direct", Lane.HTTP, "Direct (free)", opener="gossamer.fetch.http:open_direct", account_credits=1)
"""The plain request from this machine: robots.txt and sitemaps are always asked for this way."""

_PAGE_LOAD = timedelta(seconds=60)


def _scrapingbee(
    name: str, way: str, seconds: int, credits: int, *, renders: bool = False, hybrid: bool = False
) -> Rung:
    # A page that is not there is charged, and so is a call that was one too many; their own failures are not.
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


# To the price of the way ScraperAPI adds the class of the domain (30 at most) and 10 for each bot protection it gets
# past, and does not say how: its worst price is the sum with one of those, and it is told to refuse what is dearer.
_CLASS = 30
_PROTECTION = 10


def _scraperapi(name: str, way: str, credits: int, *, renders: bool = False, hybrid: bool = False) -> Rung:
    return Rung(
        name,
        Lane.HTTP,
        f"ScraperAPI ({way})",
        timedelta(seconds=100),  # tries for 70 seconds, whatever we want
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
        # It takes no time limit of ours: its own is 140 seconds.
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
            # Charged whatever the site answers; a better proxy, which it may choose by itself, costs five.
            cost=Cost(5, {"ok": 1, "404": 1, "403": 1, "failed": 0}),
            in_hybrid=True,
            in_premium=True,
        ),
    ),
)
"""By name, in the order in which `hybrid` prefers providers. Which of them can be used here is a matter of settings."""

PAID_BY_TRAFFIC = "residential"
"""What GOSSAMER_PRICES calls proxies whose price is that of their traffic. They are no rung: rungs go through them."""


def providers() -> dict[str, Provider]:
    """Those of all rungs, by name."""
    return {rung.provider.name: rung.provider for rung in RUNGS.values() if rung.provider}


def provider_of(rung: str) -> str:
    """The name of a rung's provider in settings, bills and breakers; "" for a rung of our own or an unknown one."""
    row = RUNGS.get(rung)
    return row.provider.name if row and row.provider else ""


def provider_title(name: str) -> str:
    """`ScrapingBee`; for one that is not known here any more its name, capitalised."""
    provider = providers().get(name)
    return provider.title if provider else name.capitalize()


def label_of(rung: str) -> str:
    """`ScrapingBee (JS rendering)`; for a rung that is not known here any more its name, capitalised."""
    row = RUNGS.get(rung)
    return (row.label if row else "") or rung.capitalize()


def kind_of(rung: str) -> RequestKind:
    """A rung that is not known here any more is taken for a provider's."""
    row = RUNGS.get(rung)
    return row.kind if row else RequestKind.PROVIDER


def by_usual_cost(names: Iterable[str]) -> list[str]:
    """The cheapest first; those that are free or not known here come before, by name."""

    def usual(name: str) -> int:
        row = RUNGS.get(name)
        return row.cost.usual if row and row.cost else 0

    return sorted(names, key=lambda name: (usual(name), name))


def all_settings() -> Iterator[RungSetting]:
    """The settings of all rungs, each once."""
    return iter(dict.fromkeys(one for rung in RUNGS.values() for one in rung.settings))


def job_of_key(line: str) -> str:
    """The job whose own key a provider is asked with, by the name its breaker has; "" for the operator's key."""
    return line.partition(":")[2]


class Experience(NamedTuple):
    """Counts of a rung's recent tries and successes."""

    tries: int = 0
    wins: int = 0

    @property
    def rate(self) -> float:
        return self.wins / self.tries if self.tries else 0.0
