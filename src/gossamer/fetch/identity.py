"""Who a visit says it is: a current browser whose TLS, HTTP/2 and headers agree with its User-Agent.

The client knows the fingerprints; what is added here is the spelling and order of headers on HTTP/1.1, where browsers
write capitals and the client by itself does not.
"""

from dataclasses import dataclass

from wreq.emulation import Emulation, Platform, Profile
from wreq.header import OrigHeaderMap


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
