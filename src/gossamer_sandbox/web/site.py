"""One site of the sample web with all its pages: generated on first use, read-only afterwards."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from gossamer.model.url import normalise, path_of
from gossamer_sandbox.web.crowd import Crowd
from gossamer_sandbox.web.dice import dice
from gossamer_sandbox.web.draft import Draft
from gossamer_sandbox.web.homes import HOME_QUIRKS
from gossamer_sandbox.web.keywords import OUTSIDE
from gossamer_sandbox.web.outline import lay_out
from gossamer_sandbox.web.page import Manner, PagePlan, Plant
from gossamer_sandbox.web.profile import Profile, Settings
from gossamer_sandbox.web.quirks import INNER_QUIRKS
from gossamer_sandbox.web.robots import ROBOTS, RobotsFile
from gossamer_sandbox.web.sitemaps import SitemapPlan
from gossamer_sandbox.web.traps import endless_page, in_session

_NOT_THERE = (Plant("CRM", "plain", "p"), Plant("marketing automation", "plain", "foot"))


@dataclass(frozen=True, slots=True)
class SitePlan:
    """A site as it is served. `pages` are the fixed ones; traps generate theirs from the address."""

    settings: Settings
    profile: Profile
    robots: RobotsFile
    sitemap: SitemapPlan
    pages: Mapping[str, PagePlan]
    traps: frozenset[str]
    soft_404: bool
    crowd: Crowd | None

    def page(self, requested: str) -> PagePlan:
        """Return the plan of the response to a request for any path with its query."""
        path = requested if requested in self.pages else self._tidy(requested)
        plan = self.pages.get(path) or self._variant(path) or endless_page(self.traps, path) or self._crowded(path)
        if plan is None:
            manner = Manner.SOFT_404 if self.soft_404 else Manner.NOT_FOUND
            return PagePlan(path, "bare", manner, plants=_NOT_THERE)
        return in_session(plan, requested) if "session" in self.traps else plan

    def _tidy(self, requested: str) -> str:
        """Session and tracking parameters change nothing about the page that is shown."""
        url = normalise(self.profile.origin + requested)
        return path_of(url) if url else requested

    def _variant(self, path: str) -> PagePlan | None:
        bare, _, query = path.partition("?")
        plan = self.pages.get(bare)
        return plan if plan and plan.canonical == bare and query.startswith("ref=") else None

    def _crowded(self, path: str) -> PagePlan | None:
        number = self.crowd.number_of(path) if self.crowd else None
        if self.crowd is None or number is None:
            return None
        links = ("/", *self.crowd.neighbours(number))
        return lone_page(self.settings, self.profile, path, links, silent=number % 2 == 0)


def draw_site(settings: Settings, profile: Profile, neighbour: str) -> SitePlan:
    """All pages of a site. `neighbour` is the origin of another site, for the quirks that lead to one."""
    draft = Draft(profile, settings, dice(settings.seed, profile.name.host), neighbour)
    robots = ROBOTS[profile.robots]
    lay_out(draft, robots)
    for quirk in profile.inner_quirks:
        INNER_QUIRKS[quirk](draft)
    if profile.home_quirk:
        HOME_QUIRKS[profile.home_quirk](draft)
    sitemap = _draw_sitemap(draft, robots)
    if profile.sitemap_named:
        robots = robots.naming(sitemap.entry)
    traps = frozenset(draft.traps)
    return SitePlan(settings, profile, robots, sitemap, draft.freeze(), traps, draft.soft_404, draft.crowd)


def _draw_sitemap(draft: Draft, robots: RobotsFile) -> SitemapPlan:
    profile, throw = draft.profile, draft.throw
    # A directory of hundreds lists them itself.
    crowd = draft.crowd if profile.home_quirk else None
    # Some sitemaps are complete, at least where nothing hides from them.
    complete = crowd is not None or (throw.random() < 0.3 and not profile.quirk)
    listed = list(draft.plans) if complete else [path for path in draft.ordinary if throw.random() < 0.7]
    alone = [f"/listed-only/{at}" for at in range(throw.randint(1, 3))]
    for path in alone:
        draft.page(path, plants=(*draft.frame, *draft.plants()))
    here = [profile.origin + path for path in dict.fromkeys((*listed, *alone, *robots.bait[:1]))]
    return SitemapPlan(profile.sitemap, profile.origin, (*here, f"http://{OUTSIDE[1]}/"), crowd)


def lone_page(
    settings: Settings, profile: Profile, path: str, links: Iterable[str], *, silent: bool = False
) -> PagePlan:
    """Return a page generated on request, apart from the site's other pages; it has no navigation."""
    draft = Draft(profile, settings, dice(settings.seed, profile.name.host, path))
    plan = draft.page(path, habit="" if silent else None, plants=() if silent else draft.plants())
    for href in links:
        draft.link(path, href, "text")
    return replace(plan, anchors=tuple(draft.anchors[path]))
