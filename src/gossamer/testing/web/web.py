"""The sample web as a value: sites by number, made when asked for and forgotten when others are asked for."""

import itertools
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from gossamer.testing.web.casting import profile_of
from gossamer.testing.web.keywords import CLIENT, KEYWORDS
from gossamer.testing.web.names import name_of, number_of
from gossamer.testing.web.page import PagePlan
from gossamer.testing.web.profile import Profile, Settings
from gossamer.testing.web.quirks import landing_path
from gossamer.testing.web.reach import Caps
from gossamer.testing.web.site import SitePlan, draw_site, landing_page

_PLANS_KEPT = 2_000
_PROFILES_KEPT = 8_000
_LOOK_AHEAD = 60


class SampleWeb:
    """Thousands of deterministic sites. Making one costs nothing: every site is drawn from the seed when it is needed."""

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
            raise ValueError("a sample web has at least one site, of at least one page, and a nasty share from 0 to 1")
        self.settings = Settings(sites, seed, nasty, size_min, size_max, retry_after_max, slow_seconds)
        # Bound to the instance so that a web that is dropped takes its caches along.
        self.profile = lru_cache(maxsize=_PROFILES_KEPT)(self._draw_profile)
        self.site = lru_cache(maxsize=_PLANS_KEPT)(self._draw_site)
        self.number_of = lru_cache(maxsize=_PROFILES_KEPT)(self._number_of)

    def hosts(self) -> Iterator[str]:
        """The host every site starts at, in punycode."""
        return (name_of(number).start for number in self.numbers())

    def domains(self) -> Iterator[str]:
        """The sites as people would list them."""
        return (name_of(number).listed for number in self.numbers())

    def numbers(self) -> range:
        return range(1, self.settings.sites + 1)

    def page(self, number: int, requested: str) -> PagePlan:
        """What a site answers for a path with its query."""
        site = self.site(number)
        source = self._sent_from(number, requested) if requested.startswith("/welcome/from-") else None
        if source is not None:
            return landing_page(self.settings, site.profile, requested)
        return site.page(requested)

    def neighbour(self, number: int) -> int | None:
        """The next site in the round whose homepage is in order."""
        sites = self.settings.sites
        for step in range(1, min(_LOOK_AHEAD, sites)):
            other = (number - 1 + step) % sites + 1
            if not self.profile(other).home_quirk:
                return other
        return None

    def landings(self) -> Iterator[tuple[int, int]]:
        """Which sites send visitors to a page of another one: (from, to)."""
        for number in self.numbers():
            if "redirect-elsewhere" in self.profile(number).inner_quirks:
                target = self.neighbour(number)
                if target is not None:
                    yield number, target

    def truth(self, caps: Caps | None = None) -> dict[str, Any]:
        """What a reader that keeps the rules finds, as one value; for large webs see `write_truth`."""
        from gossamer.testing.web.truth import Truth  # noqa: PLC0415

        return Truth(self, caps or Caps()).whole()
