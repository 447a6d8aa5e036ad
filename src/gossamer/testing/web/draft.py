"""A site while it is being drawn up: pages and links may still be added. `freeze` ends that."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from gossamer.testing.web.forms import DECOYS, PLANTS
from gossamer.testing.web.keywords import CLIENT
from gossamer.testing.web.page import Anchor, PagePlan, Plant
from gossamer.testing.web.profile import Profile, Settings
from gossamer.testing.web.prose import slug

_CLIENT = ("",) * 14 + ("linked", "linked", "linked", "nofollow", "named", "named")
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
    foot: tuple[Plant, ...] = ()  # what the footer of every page mentions
    soft_404: bool = False

    def page(self, path: str, look: str = "article", **more: Any) -> PagePlan:
        """Add a page like any other: some words, perhaps some mentions. `more` are fields of the plan."""
        throw = self.throw
        most = _PARAGRAPHS_WIDE if self.profile.language in ("ru", "ja") else _PARAGRAPHS
        drawn: dict[str, Any] = {
            "plants": (*self.foot, *self._plants()),
            "decoys": self._decoys(),
            "client": throw.choice(_CLIENT),
            "paragraphs": min(throw.randint(2, most), throw.randint(2, most)),
        }
        plan = self.add(PagePlan(path, look, **(drawn | more)))
        if plan.client in ("linked", "nofollow"):
            self._link_client(plan)
        return plan

    def _link_client(self, plan: PagePlan) -> None:
        host = self.throw.choice((CLIENT, CLIENT, f"www.{CLIENT}", CLIENT.upper()))
        href = f"{self.throw.choice(('http', 'https'))}://{host}/{slug(self.throw)}"
        rel = self.throw.choice(("nofollow", "sponsored nofollow", "NoFollow")) if plan.client == "nofollow" else ""
        self.link(plan.path, href, "client", rel)

    def add(self, plan: PagePlan) -> PagePlan:
        self.plans[plan.path] = plan
        self.anchors[plan.path] = []
        return plan

    def change(self, path: str, **changes: Any) -> None:
        self.plans[path] = replace(self.plans[path], **changes)

    def link(self, source: str, href: str, place: str = "list", rel: str = "") -> None:
        self.anchors[source].append(Anchor(href, place, rel))

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
