"""Open what connects to the outside: rungs, providers, the forward proxy of browsers, and the sender of messages."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_address
from socket import gethostname
from ssl import create_default_context
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from gossamer.accounts.sealing import purpose_of
from gossamer.app.installation import sealer
from gossamer.app.price_settings import prices_of
from gossamer.clock import SteadyClock
from gossamer.errors import UserError
from gossamer.fetch.deny_list import DenyList
from gossamer.fetch.guard import Guard, parse_connect_to
from gossamer.fetch.http import read_trust
from gossamer.model.registry import resolve
from gossamer.model.rungs import DIRECT, RUNGS, Rung, RungSetting, providers
from gossamer.settings import Settings
from gossamer.settings.types import listener_of

if TYPE_CHECKING:
    from gossamer.crawl.worker_deps import JobKeyRungs
    from gossamer.fetch.forward_proxy import ForwardProxy
    from gossamer.fetch.post import Poster
    from gossamer.fetch.providers import Providers
    from gossamer.gate import Breakers, Places


def rungs_here(settings: Settings) -> dict[str, Rung]:
    """Return the usable rungs by name, cheapest first: the single list that all other code uses."""
    unknown = [name for name in settings.test_rungs if name not in RUNGS or name == DIRECT.name]
    outside = [place for place in settings.test_rungs.values() if not _is_ours(place, settings)]
    if unknown or outside:
        raise UserError(
            "settings.invalid",
            f"GOSSAMER_TEST_RUNGS has {(unknown + outside)[0]!r}, expected a rung and an address of this machine.",
            hint="It is for tests: elsewhere than on this machine an address must be in GOSSAMER_ALLOW_NETWORKS.",
        )
    return {name: rung for name, rung in RUNGS.items() if name in settings.test_rungs or _is_set_up(rung, settings)}


def _is_set_up(rung: Rung, settings: Settings) -> bool:
    """Return True if the code of a rung is installed and all settings it requires are set."""
    return rung.can_open and all(settings.plain(one.name) for one in rung.settings if one.is_required)


def check_openers(settings: Settings) -> None:
    """Raise if the code of a rung cannot be found; plug-ins may name any."""
    for name, rung in rungs_here(settings).items():
        opener = rung.provider.opener if rung.provider else rung.opener
        if name in settings.test_rungs or opener.startswith("gossamer."):
            continue
        try:
            resolve(opener)
        except Exception as error:  # code of others may raise anything
            said = " ".join(str(error).split())
            raise UserError(
                "plugins.opener",
                f"The method {name} cannot be used: {opener!r} was not found ({type(error).__name__}: {said}).",
                hint="Correct the opener in its row. Expected: module:function.",
            ) from error


def _is_ours(place: str, settings: Settings) -> bool:
    address = ip_address(urlsplit(f"//{place}").hostname or "")
    return address.is_loopback or any(address in network for network in settings.allow_networks)


def lanes_here(settings: Settings) -> tuple[str, ...]:
    """Return the lanes for which a rung is set up here."""
    return tuple(dict.fromkeys(rung.lane for rung in rungs_here(settings).values()))


def provider_rungs(settings: Settings) -> tuple[str, ...]:
    """Return the names of the providers' rungs that are set up here, without loading their clients."""
    return tuple(name for name, rung in RUNGS.items() if rung.provider and _is_set_up(rung, settings))


def provider_desk(
    settings: Settings,
    clock: SteadyClock,
    places: "Places",
    holder: str,
    breakers: "Breakers | None" = None,
    forward: "ForwardProxy | None" = None,
) -> "Providers":
    """Return the providers of this installation.

    `holder` distinguishes this process from the others that share its places. Without `forward`, accounts can
    be queried, but pages that need a browser cannot be fetched.
    """
    # Needed by workers and by commands about providers only.
    from gossamer.fetch.providers import ProviderAccess, Providers

    worst = {rung: price.worst for rung, price in prices_of(settings).prices.items()}

    def given(one: RungSetting | None) -> Any:
        return settings.plain(one.name) if one else None

    access = {
        name: ProviderAccess(given(one.key) or "", given(one.address) or "", given(one.concurrency), worst)
        for name, one in providers().items()
    }
    return Providers(
        access,
        clock,
        places,
        holder=holder,
        breakers=breakers,
        at_once=settings.provider_concurrency,
        never_send=never_send(settings, clock),
        # Longer than the time after which jobs pause for it: a resumed job finds the provider tried again.
        believed=settings.provider_patience * 1.5,
        proxy=settings.proxy.get_secret_value() if settings.proxy else "",
        trust=read_trust(settings.ca_file) if settings.ca_file else None,
        forward=forward,
    )


def job_key_rungs(settings: Settings, desk: "Providers", guard: Guard) -> "JobKeyRungs":
    """Return the access to providers for jobs with a key of their own."""
    # Needed by workers only.
    from gossamer.crawl.worker_deps import JobKeyRungs
    from gossamer.fetch.providers import OwnKey

    return JobKeyRungs(
        open_seal=lambda sealed, account, provider: sealer(settings).open(sealed, purpose_of(account, provider)),
        open=lambda rung, whose, key: desk.session(rung, guard, own=OwnKey(whose, key)),
        resting=lambda rung, whose, key: desk.resting(rung, OwnKey(whose, key)),
        forget=desk.forget,
    )


def never_send(settings: Settings, clock: SteadyClock) -> DenyList:
    return DenyList(settings.never_send, clock, "GOSSAMER_NEVER_SEND")


def forward_proxy(settings: Settings, guard: Guard) -> "ForwardProxy":
    """Return the proxy that browsers have to use; it listens once it is entered."""
    # Needed by workers only.
    from gossamer.fetch.forward_proxy import ForwardProxy, Listen
    from gossamer.fetch.forward_proxy.dialing import Dialer

    address, ports = listener_of(settings.forward_proxy_listen)
    everywhere = ip_address(address).is_unspecified
    name = settings.forward_proxy_name or (gethostname() if everywhere else address)
    trust = None
    if settings.ca_file:
        trust = create_default_context()
        trust.load_verify_locations(settings.ca_file)
    dialer = Dialer(settings.proxy.get_secret_value() if settings.proxy else "", trust)
    return ForwardProxy(guard, Listen(address, ports, name), dialer=dialer)


def check_way_back(settings: Settings) -> None:
    """Raise if a browser on another machine cannot reach the forward proxy that it has to use."""
    address = ip_address(listener_of(settings.forward_proxy_listen)[0])
    for one in providers().values():
        where = settings.plain(one.address.name) if one.is_browser and one.address else None
        host = urlsplit(where or "//localhost").hostname or ""
        if address.is_loopback and host != "localhost" and not _is_loopback(host):
            raise UserError(
                "forward_proxy.out_of_reach",
                f"{one.title} at {where} could not reach the forward proxy it has to go out through, "
                f"which listens on {address}.",
                hint="Set GOSSAMER_FORWARD_PROXY_LISTEN to an address it reaches, such as 0.0.0.0. "
                "See docs/howto/use-a-provider.md.",
            )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


@asynccontextmanager
async def open_poster(settings: Settings, clock: SteadyClock) -> AsyncIterator["Poster"]:
    """Yield the client that sends messages to addresses given by users.

    It can reach sites that no job may visit: the operator's own server may be on that list.
    """
    # Needed by senders of messages only.
    from gossamer.fetch.post import Poster
    from gossamer.fetch.resolve import Resolver

    resolver = Resolver(clock, servers=settings.dns_servers)
    guard = Guard(resolver, rules=parse_connect_to(settings.connect_to), allow=settings.allow_networks)
    try:
        yield Poster(
            guard,
            clock,
            timeout=settings.webhook_timeout,
            trust=read_trust(settings.ca_file) if settings.ca_file else None,
            proxy=settings.proxy.get_secret_value() if settings.proxy else "",
        )
    finally:
        await resolver.close()
