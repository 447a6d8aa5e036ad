"""Hundreds or thousands of pages of one site, generated on request; two in five of them are missing."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

_DIGITS = 5
_PATTERN, _MISSING = 5, (1, 4)  # of every five pages, these two are not there
_POPULAR = 25  # every so many pages one that its neighbours link to


@dataclass(frozen=True, slots=True)
class Crowd:
    """Pages with a number. Those of a chained crowd link to each other, the others only back to the homepage."""

    prefix: str
    size: int
    chained: bool = True

    def paths(self, most: int | None = None) -> Iterator[str]:
        return (f"{self.prefix}{number:0{_DIGITS}d}" for number in islice(range(self.size), most))

    def number_of(self, path: str) -> int | None:
        """Which page an address is; None if it is none of the crowd or a missing one."""
        digits = path.removeprefix(self.prefix)
        if digits == path or len(digits) != _DIGITS or not (digits.isascii() and digits.isdecimal()):
            return None
        number = int(digits)
        return number if number < self.size and number % _PATTERN not in _MISSING else None

    def neighbours(self, number: int) -> Iterator[str]:
        """Yield the links of a page: the next pages and the nearest popular one."""
        near = (number + 1, number + 2, number // _POPULAR * _POPULAR) if self.chained else ()
        return (f"{self.prefix}{other % self.size:0{_DIGITS}d}" for other in near)
