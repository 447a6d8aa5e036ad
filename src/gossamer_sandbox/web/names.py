"""Which sites there are: a number to a host name and back, without keeping a list.

Most are `site-0001.test`, `site-0002.test` and so on. Two in thirty share a registrable domain (`blog.pair-0015.test`
and `shop.pair-0015.test`), one in a hundred has an international name, and one in five of the plain ones has a `www`
twin, of which one only redirects to the other.
"""

import re
from dataclasses import dataclass

from gossamer.model.url import host_of, normalise

_INTERNATIONAL = ("bücher", "łódka", "книги", "本屋")
_NUMBER = re.compile(r"\d{4,}")


@dataclass(frozen=True, slots=True)
class Name:
    """The names of a site. `host` is bare and in punycode; `primary` is the twin that answers."""

    number: int
    host: str
    listed: str  # as people write it
    start: str  # the host a walk begins at: `listed` in punycode
    primary: str
    twin: str  # redirects everything to the primary; "" when there is none


def name_of(number: int) -> Name:
    """The name of a site, counted from 1."""
    if number % 30 == 15:
        return _single(number, f"blog.pair-{number:04d}.test")
    if number % 30 == 16:
        return _single(number, f"shop.pair-{number - 1:04d}.test")
    if number % 100 == 31:
        return _single(number, f"{_INTERNATIONAL[number // 100 % len(_INTERNATIONAL)]}-{number:04d}.test")
    bare = f"site-{number:04d}.test"
    twin = f"www.{bare}"
    match number % 10:
        case 3:
            return Name(number, bare, bare, bare, primary=twin, twin=bare)
        case 7:
            listed = twin if number % 20 == 7 else bare
            return Name(number, bare, listed, listed, primary=bare, twin=twin)
        case _:
            return _single(number, bare)


def _single(number: int, listed: str) -> Name:
    host = listed if listed.isascii() else host_of(normalise(f"http://{listed}/") or "")
    return Name(number, host, listed, host, primary=host, twin="")


def number_of(host: str, sites: int) -> int | None:
    """Return the number of the site with this host name, or None if there is none below `sites`."""
    match = _NUMBER.search(host)
    if match is None:
        return None
    number = int(match[0])
    for candidate in (number, number + 1):  # the second of a pair is named after the first
        if 1 <= candidate <= sites:
            name = name_of(candidate)
            if host in (name.primary, name.twin):
                return candidate
    return None
