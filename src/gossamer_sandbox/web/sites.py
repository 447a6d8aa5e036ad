"""All sites of a sample web by number: generated from the seed on request, kept in a bounded cache."""

from collections.abc import Iterator
from functools import lru_cache

from gossamer_sandbox.web.casting import profile_of
from gossamer_sandbox.web.names import name_of, number_of
from gossamer_sandbox.web.page import PagePlan
from gossamer_sandbox.web.profile import Profile, Settings
from gossamer_sandbox.web.quirks import landing_path
from gossamer_sandbox.web.site import SitePlan, draw_site, lone_page
from gossamer_sandbox.web.visitors import NOBODY, Visitor, as_seen_by

# A crawl holds hundreds of sites open at once and comes back to each of them about once a second.
PLANS_KEPT = 2_000
_PROFILES_KEPT = 8_000
_LOOK_AHEAD = 60


class Sites:
    """Thousands of deterministic sites that cost nothing until they are needed."""

    def __init__(self, settings: Settings, *, plans_kept: int = PLANS_KEPT, visitor: Visitor = NOBODY) -> None:
        self.settings = settings
        self._visitor = visitor
        # Caches of the instance: a web that is dropped takes them along.
        self.profile = lru_cache(maxsize=_PROFILES_KEPT)(self._draw_profile)
        self.site = lru_cache(maxsize=plans_kept)(self._draw_site)
        self.number_of = lru_cache(maxsize=_PROFILES_KEPT)(self._find_number)

    @property
    def numbers(self) -> range:
        return range(1, self.settings.sites + 1)

    def _draw_profile(self, number: int) -> Profile:
        return profile_of(self.settings, number)

    def _draw_site(self, number: int) -> SitePlan:
        return draw_site(self.settings, self.profile(number), self._neighbour_origin(number))

    def _find_number(self, host: str) -> int | None:
        return number_of(host, self.settings.sites)

    def page(self, number: int, requested: str) -> PagePlan:
        """Return a site's plan for a path with its query."""
        site = self.site(number)
        if requested.startswith("/welcome/") and self._is_landing(number, requested):
            return lone_page(self.settings, site.profile, requested, ("/",))
        return as_seen_by(site.page(requested), self._visitor)

    def _is_landing(self, number: int, requested: str) -> bool:
        tail = requested.rpartition("-")[2]
        source = int(tail) if tail.isdecimal() and tail.isascii() else 0
        return source in self.numbers and requested == landing_path(source) and self.sends_to(source) == number

    def sends_to(self, number: int) -> int | None:
        """The site a page of this one redirects to, if there is such a page and such a site."""
        quirky = "redirect-elsewhere" in self.profile(number).inner_quirks
        return self.neighbour(number) if quirky else None

    def landings(self) -> Iterator[tuple[int, int]]:
        """Which sites send visitors to a page of another one: (from, to)."""
        for number in self.numbers:
            target = self.sends_to(number)
            if target is not None:
                yield number, target

    def neighbour(self, number: int) -> int | None:
        """The next site in the round whose homepage is in order."""
        sites = self.settings.sites
        for step in range(1, min(_LOOK_AHEAD, sites)):
            other = (number - 1 + step) % sites + 1
            if not self.profile(other).home_quirk:
                return other
        return None

    def _neighbour_origin(self, number: int) -> str:
        profile = self.profile(number)
        if profile.home_quirk != "moved" and "redirect-elsewhere" not in profile.inner_quirks:
            return ""
        other = self.neighbour(number)
        return f"http://{name_of(other).primary}" if other is not None else ""
