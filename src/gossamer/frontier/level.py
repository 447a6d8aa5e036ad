"""What the pages of the present level link to. Each page's row keeps its part, so nothing is written twice.

Pages of one site link to much the same addresses. An address is written by the first page that has it and gets a
number; the others only name the number. Links count when the level is over, in the order of its pages, so it does not
matter in which order the pages came in.

A page that another lane reads knows nothing of those numbers: its row has all its addresses written out. When the level
is over both count alike.
"""

import zlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple, cast

import orjson

MOST_ADDRESSES = 20_000  # of one level
_WORTH_PACKING = 512  # bytes
_WRITTEN_OUT = -1  # instead of a number: these addresses stand for themselves


class Finder(NamedTuple):
    """A page of the level, and the addresses it links to: by number, or written out."""

    url: str
    depth: int
    numbers: list[int]
    links: list[str] = []  # noqa: RUF012 - nobody adds to it


class Level:
    """The links of the pages that have ended since the last choice. Each counts `weight` as an in-link."""

    def __init__(self, weight: int = 1) -> None:
        self.weight = weight
        self._numbers: dict[str, int] = {}
        self._addresses: dict[int, str] = {}
        self._finders: dict[tuple[int, str], Finder] = {}
        self._next = 0
        self.crowded = False  # there was no room for some

    def add(self, rank: int, url: str, depth: int, links: Iterable[str]) -> bytes:
        """Take a page's links; what its row must keep of them."""
        first = self._next
        links = list(links)
        numbers = cast("list[int]", list(map(self._numbers.get, links)))
        fresh: list[str] = []
        if None in numbers:  # after the first pages of a level there are few new ones
            fresh = self._number([link for link in links if link not in self._numbers])
            numbers = [self._numbers[link] for link in links if link in self._numbers]
        self._finders[rank, url] = Finder(url, depth, numbers)
        return _packed(first, fresh, numbers)

    def _number(self, unknown: list[str]) -> list[str]:
        """Give numbers to those there is room for; which that were."""
        fresh = list(dict.fromkeys(unknown))
        room = MOST_ADDRESSES - self._next
        if len(fresh) > room:
            self.crowded = True
            del fresh[room:]
        self._numbers.update(zip(fresh, range(self._next, self._next + len(fresh)), strict=True))
        self._addresses.update(enumerate(fresh, self._next))
        self._next += len(fresh)
        return fresh

    def recall(self, rank: int, url: str, depth: int, packed: bytes) -> None:
        """Take a page's links from its row."""
        first, fresh, numbers = orjson.loads(packed if packed[:1] == b"[" else zlib.decompress(packed))
        if first == _WRITTEN_OUT:
            self._finders[rank, url] = Finder(url, depth, [], fresh)
            return
        for number, link in enumerate(fresh, first):
            self._addresses[number] = link
            self._numbers[link] = number
        self._next = max(self._next, first + len(fresh))
        self._finders[rank, url] = Finder(url, depth, numbers)

    def links(self) -> Iterator[tuple[Finder, str]]:
        """Every link of every page, in the order of the pages."""
        for _, finder in sorted(self._finders.items()):
            for number in finder.numbers:
                link = self._addresses.get(number)
                if link is not None:
                    yield finder, link
            for link in finder.links:
                yield finder, link


def written_out(links: Iterable[str]) -> bytes:
    """What the row of a page keeps of its links where whoever chooses the next level has not seen them arrive."""
    return _packed(_WRITTEN_OUT, list(dict.fromkeys(links)), [])


def _packed(first: int, fresh: list[str], numbers: list[int]) -> bytes:
    packed = orjson.dumps([first, fresh, numbers])
    return zlib.compress(packed, 1) if len(packed) > _WORTH_PACKING else packed
