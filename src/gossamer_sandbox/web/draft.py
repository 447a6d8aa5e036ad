"""A site while it is being drawn up: pages and links may still be added. `freeze` ends that."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from gossamer.model.url import domain_of
from gossamer_sandbox.web.crowd import Crowd
from gossamer_sandbox.web.forms import DECOYS, PLANTS
from gossamer_sandbox.web.keywords import CLIENT, OUTSIDE
from gossamer_sandbox.web.page import Anchor, PagePlan, Plant
from gossamer_sandbox.web.profile import Profile, Settings
from gossamer_sandbox.web.prose import slug

_HABITS = (
    *("",) * 12,
    *("linked",) * 3,
    *("nofollow",) * 2,
    *("both",) * 1,
    *("named",) * 2,
    *("worded",) * 2,
    *("worded-inside",) * 1,
)
_SHUNNING = ("nofollow", "sponsored nofollow", "NoFollow", "ugc", "noopener sponsored")
_CLIENT_HOSTS = (CLIENT, CLIENT, f"www.{CLIENT}", CLIENT.upper(), f"shop.{CLIENT}")
_OTHER_HOSTS = (*OUTSIDE[1:], "www.news-wire.test", "blog.rival-south.test")
# Letters of these languages take two or three bytes, and pages are to be of a like size everywhere.
_PARAGRAPHS, _PARAGRAPHS_WIDE = 64, 36


@dataclass(slots=True)
class Draft:
    """One site in the making."""

    profile: Profile
    settings: Settings
    throw: Random
    neighbour: str = ""  # origin of another listed site whose homepage is fine; "" when there is none
    plans: dict[str, PagePlan] = field(default_factory=dict)
    anchors: dict[str, list[Anchor]] = field(default_factory=dict)
    nav: list[Anchor] = field(default_factory=list)
    ordinary: list[str] = field(default_factory=list)  # pages like any other, for quirks to link to
    traps: set[str] = field(default_factory=set)
    frame: tuple[Plant, ...] = ()  # what head, menu or foot of every page mention
    crowd: Crowd | None = None
    soft_404: bool = False

    def page(self, path: str, look: str = "article", *, habit: str | None = None, **more: Any) -> PagePlan:
        """Add a page like any other: some words, perhaps some mentions. `more` are fields of the plan."""
        throw = self.throw
        most = _PARAGRAPHS_WIDE if self.profile.language in ("ru", "ja") else _PARAGRAPHS
        habit = throw.choice(_HABITS) if habit is None else habit
        drawn: dict[str, Any] = {
            "plants": (*self.frame, *self._plants()),
            "decoys": self._decoys(),
            "names_client": habit == "named",
            "paragraphs": min(throw.randint(2, most), throw.randint(2, most)),
        }
        plan = self.add(PagePlan(path, look, **(drawn | more)))
        self._take_up(habit, path)
        return plan

    def _take_up(self, habit: str, path: str) -> None:
        """A page's way of speaking of the client and of others in its links."""
        throw = self.throw
        if habit in ("linked", "both"):
            self._link_out(path, _CLIENT_HOSTS, plant=throw.choice((None, None, *self.plants())))
        if habit in ("nofollow", "both"):
            self._link_out(path, _CLIENT_HOSTS, rel=throw.choice(_SHUNNING))
        if habit == "worded":
            self._link_out(path, _OTHER_HOSTS, rel=throw.choice(("", "", "nofollow")), plant=self.plants()[0])
        if habit == "worded-inside":
            # Neither the site itself nor its owner's other sites are elsewhere.
            annex = f"annex.{domain_of(self.profile.name.host)}"
            self._link_out(path, (annex,), plant=self.plants()[0])
            self.link(path, "/", "text", plant=self.plants()[0])

    def _link_out(self, path: str, hosts: Sequence[str], rel: str = "", plant: Plant | None = None) -> None:
        throw = self.throw
        href = f"{throw.choice(('http', 'https'))}://{throw.choice(hosts)}/{slug(throw)}"
        self.link(path, href, "text", rel, plant)

    def add(self, plan: PagePlan) -> PagePlan:
        self.plans[plan.path] = plan
        self.anchors[plan.path] = []
        return plan

    def change(self, path: str, **changes: Any) -> None:
        self.plans[path] = replace(self.plans[path], **changes)

    def link(self, source: str, href: str, place: str = "list", rel: str = "", plant: Plant | None = None) -> None:
        self.anchors[source].append(Anchor(href, place, rel, plant))

    def somewhere(self) -> str:
        """A page that the walk reaches early, to hang a link on."""
        return self.throw.choice(self.ordinary[:3])

    def plants(self, among: Sequence[Plant] = PLANTS) -> tuple[Plant, ...]:
        """At least one mention."""
        return tuple(self.throw.choices(among, k=self.throw.randint(1, 4)))

    def _plants(self) -> tuple[Plant, ...]:
        return () if self.throw.random() < 0.4 else self.plants()

    def _decoys(self) -> tuple[Plant, ...]:
        return tuple(self.throw.choices(DECOYS, k=self.throw.choice((0, 0, 1, 2, 3))))

    def freeze(self) -> dict[str, PagePlan]:
        """The pages as they will be served; every page that has links of its own carries the navigation too."""
        nav = tuple(self.nav)
        return {
            path: replace(plan, anchors=(*(nav if plan.look not in ("leaf", "bare") else ()), *self.anchors[path]))
            for path, plan in self.plans.items()
        }
