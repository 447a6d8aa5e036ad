"""New facts about a visit's site that are not written yet."""

from datetime import datetime

from gossamer.crawl.requester import Requester
from gossamer.crawl.robots import RobotsReader
from gossamer.frontier.frontier import Frontier
from gossamer.model.page import Errand, Visit
from gossamer.settle.step import SiteFacts


class NewFacts:
    """Gathers it from those who learned it, for the next step to carry."""

    def __init__(self, visit: Visit, frontier: Frontier, robots: RobotsReader, requester: Requester) -> None:
        self._frontier = frontier
        self._robots = robots
        self._requester = requester
        self._errands = visit.errands
        self.not_before = visit.not_before  # until when the site wants to be left alone

    def rest_until(self, at: datetime) -> None:
        """Never shortens what was asked before."""
        self.not_before = max(at, self.not_before or at)

    def facts(self, *, size: bool = False) -> SiteFacts | None:
        """Return the changes since the last call.

        The site's size is included only with `size`, because it takes time to compute.
        """
        robots = self._robots.answers if self._robots.changed else None
        self._robots.changed = False
        errands = self._take_errands()
        fresh = self._robots.take_fresh()
        notes = self._frontier.notes()
        if not (size or notes or robots or fresh or errands or self.not_before):
            return None  # after most pages
        if not size:
            return SiteFacts(notes, robots, fresh, self.not_before, errands=errands)
        known, source = self._frontier.size, self._frontier.size_source
        return SiteFacts(notes, robots, fresh, self.not_before, known, source, errands)

    def _take_errands(self) -> tuple[Errand, ...] | None:
        """All of the site's so far, if there are new ones."""
        if not self._requester.errands:
            return None
        self._errands += tuple(self._requester.errands)
        self._requester.errands.clear()
        return self._errands
