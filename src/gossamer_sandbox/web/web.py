"""The sample web as a value: how many sites, from which seed, and what a reader that keeps the rules finds in it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gossamer_sandbox.web.keywords import CLIENT, KEYWORDS
from gossamer_sandbox.web.names import name_of
from gossamer_sandbox.web.profile import Settings
from gossamer_sandbox.web.reach import Caps
from gossamer_sandbox.web.sites import Sites
from gossamer_sandbox.web.truth import truth_of, write_truth
from gossamer_sandbox.web.visitors import NOBODY, Visitor


class SampleWeb:
    """A sample web of fifty thousand sites or more. Creating it costs nothing: sites are generated on request."""

    keywords: tuple[str, ...] = KEYWORDS
    client: str = CLIENT

    def __init__(
        self,
        *,
        sites: int,
        seed: int = 7,
        nasty: float = 0.25,
        size_min: int = 4,
        size_max: int = 24,
        retry_after_max: float = 2,
        slow_seconds: float = 1.0,
    ) -> None:
        if sites < 1 or not 1 <= size_min <= size_max or not 0 <= nasty <= 1:
            raise ValueError(
                "a sample web needs a site, pages for it (size_min <= size_max) and a nasty share from 0 to 1"
            )
        self.sites = Sites(Settings(sites, seed, nasty, size_min, size_max, retry_after_max, slow_seconds))

    def hosts(self) -> Iterator[str]:
        """The host every site starts at, in punycode."""
        return (name_of(number).start for number in self.sites.numbers)

    def domains(self) -> Iterator[str]:
        """The sites as people would list them."""
        return (name_of(number).listed for number in self.sites.numbers)

    def truth(self, caps: Caps | None = None, visitor: Visitor = NOBODY) -> dict[str, Any]:
        """Return the truth as one value: for a plain crawler, or for a `visitor` that is shown more."""
        sites = Sites(self.sites.settings, visitor=visitor) if visitor else self.sites
        return truth_of(sites, caps or Caps())

    def write_truth(self, path: Path, caps: Caps | None = None) -> None:
        """The same into a file, site by site: the truth of a large web does not fit into memory comfortably."""
        write_truth(self.sites, caps or Caps(), path)
