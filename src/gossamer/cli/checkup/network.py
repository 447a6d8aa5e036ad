"""The way out: rules that can be read, a proxy that answers, names that can be looked up."""

import asyncio
from datetime import timedelta
from urllib.parse import urlsplit

from gossamer.cli.checkup.finding import Finding, fail, ok, warn
from gossamer.clock import SystemClock
from gossamer.fetch.connect_to import parse_connect_to
from gossamer.fetch.errors import FetchError
from gossamer.fetch.never import NeverVisit
from gossamer.fetch.resolve import Resolver
from gossamer.model.trouble import Reason
from gossamer.settings import Settings

_PATIENCE = timedelta(seconds=3)
_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}
_KNOWN_NAME = "example.com"  # kept for such purposes by those who give out names


async def check_rules(settings: Settings) -> list[Finding]:
    """The operator's own files and rules; what is wrong with one is said by whoever reads it for a job."""
    found = []
    if settings.connect_to:
        rules = parse_connect_to(settings.connect_to)
        found.append(ok("rules", f"GOSSAMER_CONNECT_TO has {len(rules)} rule{'' if len(rules) == 1 else 's'}."))
    if settings.never_visit:
        NeverVisit(settings.never_visit, SystemClock())
        found.append(ok("rules", f"The never-visit list {settings.never_visit} can be read."))
    if settings.ca_file:
        from gossamer.fetch.http import read_trust  # the client is large, and few have certificates of their own

        read_trust(settings.ca_file)
        found.append(ok("rules", f"The certificates in {settings.ca_file} can be read."))
    return found


async def check_proxy(settings: Settings) -> list[Finding]:
    if settings.proxy is None:
        return [ok("proxy", "No proxy is set: requests go out directly.")]
    address = urlsplit(settings.proxy.get_secret_value())
    host, port = address.hostname or "", address.port or _PORTS[address.scheme]
    try:
        async with asyncio.timeout(_PATIENCE.total_seconds()):
            _, writer = await asyncio.open_connection(host, port)
    except (OSError, TimeoutError) as error:
        why = str(error) or f"no answer within {_PATIENCE.seconds} s"
        step = "See that it runs, or change GOSSAMER_PROXY. Every request goes through it."
        return [fail("proxy", f"The proxy {host}:{port} cannot be reached: {why}.", step)]
    writer.close()
    return [ok("proxy", f"The proxy {host}:{port} answers.")]


async def check_names(settings: Settings) -> list[Finding]:
    resolver = Resolver(SystemClock(), servers=settings.dns_servers, patience=_PATIENCE)
    try:
        await resolver.resolve(_KNOWN_NAME)
    except FetchError as error:
        # "There is no such name" is an answer too: inside a closed network it is the right one, and nobody is offline.
        if error.trouble.reason is Reason.DNS:
            said = f"The name server answers, but knows no {_KNOWN_NAME}: the internet cannot be reached by name."
            return [warn("names", said, "In a closed network that is right. Else check GOSSAMER_DNS_SERVERS.")]
        asked = f"The name server{f's {servers}' if (servers := ', '.join(settings.dns_servers)) else ''}"
        said = f"{asked} did not answer within {_PATIENCE.seconds} s ({error.trouble.detail})."
        return [warn("names", said, "Check the network connection, or set GOSSAMER_DNS_SERVERS.")]
    finally:
        await resolver.close()
    return [ok("names", "Names can be looked up.")]
