"""Outcomes of attempts at pages: each updates the frontier and becomes a step to be written, with new facts."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from gossamer.clock import Clock
from gossamer.crawl.redirects import Moved
from gossamer.crawl.requester import MOST_HOPS, Requester
from gossamer.crawl.site_files import RobotsReader
from gossamer.frontier.frontier import Frontier
from gossamer.judge import Climb, Fail, Retry, next_step
from gossamer.judge.next_step import LONGEST_WAIT
from gossamer.logging import get_logger
from gossamer.model.document import Document
from gossamer.model.job import CrawlPolicy
from gossamer.model.page import Errand, Page, Visit, asked_page, lane_of, rung_named
from gossamer.model.recipe import Bound
from gossamer.model.record import Follow, Harvest
from gossamer.model.rungs import Ladder, Rung
from gossamer.model.states import PageState
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.url import is_homepage, normalise, site_of_url, url_key
from gossamer.settle.step import HandOver, PageStep, SiteFacts, Step
from gossamer.store.openings import Opening, entry_of

# Answers after which the site gets no request until the time it named, or our own back-off, has passed.
_ASKS_FOR_REST = frozenset({Reason.RATE_LIMITED, Reason.UNAVAILABLE, Reason.ROBOTS_UNREACHABLE})

Outcome = Document | Moved | Trouble
"""Result of one try: a page that was read, a page of another site, or the reason why there is none."""


class Follows(NamedTuple):
    """Requests that a recipe makes after a page: plain links, and requests of its own."""

    links: list[str]  # on the same site; candidates like the links of the page
    asked: list[Page]  # requests on the same site and lane
    opened: list[Opening]  # requests on other sites or lanes


_NOWHERE = Follows([], [], [])


class Gathered(NamedTuple):
    """Results and identity of a page that was read, kept until the settler has room.

    The document itself, with its tree, is too large to keep that long.
    """

    status: int
    size: int
    identity: bytes
    harvest: Harvest
    follows: Follows


log = get_logger(__name__)


class NewFacts:
    """New facts about the site of a visit, which the next step writes."""

    def __init__(self, visit: Visit, frontier: Frontier, robots: RobotsReader, requester: Requester) -> None:
        self._frontier = frontier
        self._robots = robots
        self._requester = requester
        self._errands = visit.errands
        self.not_before = visit.not_before  # the site asked for no requests before this time

    def rest_until(self, at: datetime) -> None:
        """Send the site no requests before a time; an earlier wait is never shortened."""
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
            return None  # the usual case
        if not size:
            return SiteFacts(notes, robots, fresh, self.not_before, errands=errands)
        known, source = self._frontier.size, self._frontier.size_source
        return SiteFacts(notes, robots, fresh, self.not_before, known, source, errands)

    def _take_errands(self) -> tuple[Errand, ...] | None:
        """Return all errands of the site so far if there are new ones, else None."""
        if not self._requester.errands:
            return None
        self._errands += tuple(self._requester.errands)
        self._requester.errands.clear()
        return self._errands


class Outcomes:
    """Outcomes of one visit, as steps. Synchronous, so that the frontier and the steps agree."""

    def __init__(
        self,
        visit: Visit,
        frontier: Frontier,
        new_facts: NewFacts,
        bound: Bound,
        policy: CrawlPolicy,
        policy_of: Callable[[str], CrawlPolicy],
        clock: Clock,
        jitter: float,
    ) -> None:
        """`policy` is that of ordinary pages, `policy_of` that of each step."""
        self._visit = visit
        self._frontier = frontier
        self._new_facts = new_facts
        self._bound = bound
        self._policy = policy
        self._policy_of = policy_of
        self._clock = clock
        self._jitter = jitter

    def gather(self, page: Page, doc: Document) -> Gathered | Trouble:
        """Return the results of a page, or the reason why there are none. Does not change the frontier."""
        identity = page.key if self._has_own_identity(page) else _identity(page, doc, self._visit, self._frontier.front)
        if self._frontier.has_read(identity):
            same = doc.url if doc.url != page.url else doc.canonical or doc.url
            return Trouble(Reason.SAME_AS, same, doc.status)
        try:
            harvest = self._bound.harvest(page, doc)
            follows = self._follows(page, harvest.follows) if harvest.follows else _NOWHERE
            return Gathered(doc.status, doc.size, identity, harvest, follows)
        except Exception as error:  # noqa: BLE001 - logged whole and kept with the page
            return our_mistake(page, error, doc.status)

    def _has_own_identity(self, page: Page) -> bool:
        """Return True if the page is identified by its URL and request alone."""
        asked = page.request
        if asked is None:
            return self._policy.per_address
        return bool(asked.identity) or not asked.is_plain or self._policy_of(page.step).per_address

    def _follows(self, page: Page, follows: Iterable[Follow]) -> Follows:
        """Return the requests that follow a page. Raises ValueError for impossible ones."""
        found = Follows([], [], [])
        for follow in () if page.request and page.request.last else follows:
            if not follow.is_link:
                policy = self._policy_of(follow.step)
                asked = asked_page(follow, policy, page.url, page.depth + 1)
                lane = lane_of(asked, policy)
                host = site_of_url(asked.url)
                if lane == self._visit.lane and host == self._visit.host:
                    found.asked.append(asked)
                elif asked.depth <= policy.depth:
                    found.opened.append(Opening(asked, host, lane, f"asked for by {page.url}"))
            elif (url := normalise(follow.url)) and site_of_url(url) != self._visit.host:
                found.opened.append(entry_of(url, page.url))
            else:
                found.links.append(follow.url)
        return found

    def step(self, page: Page, outcome: Gathered | Moved | Trouble) -> Step:
        match outcome:
            case Gathered():
                return self._harvest(page, outcome)
            case Moved():
                return self._hand_over(page, outcome)
            case Trouble():
                return self._meet_trouble(page, outcome)

    def skip(self, page: Page, trouble: Trouble, status: int | None = None) -> Step:
        """End a page as skipped."""
        return self._ended(page, PageState.SKIPPED, trouble, status)

    def give_up(self, page: Page, trouble: Trouble) -> Step:
        """End a page as failed, without another try."""
        return self._end(page, PageState.FAILED, trouble)

    def _pass_over(self, page: Page, trouble: Trouble) -> Step:
        if trouble.reason is Reason.SAME_AS:
            self._frontier.failed(page, trouble)
        return self.skip(page, trouble, trouble.http_status)

    def _harvest(self, page: Page, gathered: Gathered) -> Step:
        status, size, identity, harvest, follows = gathered
        self._frontier.done(page, identity)
        last = page.request is not None and page.request.last
        ended = PageStep(
            page,
            PageState.DONE,
            http_status=status,
            identity=identity,
            records=harvest.records,
            bytes_in=size,
            links=None if last else self._frontier.found(page, [*follows.links, *harvest.links]),
        )
        if follows is _NOWHERE:
            return Step(self._visit, ended, facts=self._new_facts.facts())
        chosen = self._frontier.ask(follows.asked, self._policy_of)
        # On this site only new pages count: its level is over when they have ended.
        ours = [opening.page for opening in follows.opened if opening.host == self._visit.host]
        new = {page.key for page in self._frontier.ask(ours, self._policy_of, here=False)} if ours else ()
        opened = tuple(one for one in follows.opened if one.host != self._visit.host or one.page.key in new)
        return Step(self._visit, ended, chosen=chosen, opened=opened, facts=self._new_facts.facts())

    def _hand_over(self, page: Page, moved: Moved) -> Step:
        if page.handed >= MOST_HOPS:
            return self._end(page, PageState.FAILED, Trouble(Reason.REDIRECT_LOOP, http_status=moved.status))
        trouble = Trouble(Reason.MOVED, site_of_url(moved.url), moved.status)
        self._frontier.failed(page, trouble)
        ended = PageStep(page, PageState.SKIPPED, trouble, moved.status, identity=url_key(moved.url))
        if page.request and page.request.last:
            return Step(self._visit, ended, facts=self._new_facts.facts())
        first = rung_named(page.rung, self._policy) if page.request else self._policy.ladder.first
        # Of a site that is not crawled as a whole only the page is wanted, wherever that is.
        entry = page.depth == 0 and self._visit.whole
        of = page if page.request else None
        handed = HandOver(moved.url, page.depth, entry, page.url, page.handed + 1, first.name, first.lane, of)
        return Step(self._visit, ended, facts=self._new_facts.facts(), handed=(handed,))

    def _meet_trouble(self, page: Page, trouble: Trouble) -> Step:
        if trouble.reason is Reason.SAME_AS or (trouble.reason is Reason.ROBOTS and page.depth > 0):
            return self._pass_over(page, trouble)
        if self._frontier.has_other_entry(page, trouble):
            # Not a failed page: another spelling of the homepage URL is tried instead.
            return self._end(page, PageState.SKIPPED, trouble)
        match next_step(page, self._ladder_of(page), trouble, self._clock.now(), self._jitter):
            case Retry(at):
                if trouble.reason in _ASKS_FOR_REST:
                    self._new_facts.rest_until(at)
                waiting = page.due(at)
                self._frontier.park(waiting)
                return self._ended(waiting, PageState.PENDING, trouble)
            case Climb(rung) if rung.is_paid and not self._frontier.is_worth_paying:
                return self._end(page, PageState.FAILED, trouble)
            case Climb(rung):
                return self._climb(page, rung, trouble)
            case Fail(final):
                wait = trouble.retry_after or 0.0
                if (trouble.reason in _ASKS_FOR_REST or trouble.http_status == 429) and 0 < wait <= LONGEST_WAIT:
                    # The page has failed; the wait that the site asked for holds for its other pages.
                    self._new_facts.rest_until(self._clock.now() + timedelta(seconds=wait))
                return self._end(page, PageState.FAILED, final)

    def _ladder_of(self, page: Page) -> Ladder:
        """Return the job's ladder without the rungs that are no longer tried for this site."""
        return self.ladder(page).without(self._frontier.skipped_rungs.names - {page.rung})

    def ladder(self, page: Page) -> Ladder:
        """Return the rungs that are tried for a page."""
        if page.request is None:
            return self._policy.ladder
        policy = self._policy_of(page.step)
        rung = rung_named(page.rung, policy)
        return Ladder((rung,)) if page.request.only or rung not in policy.ladder.rungs else policy.ladder

    def _climb(self, page: Page, rung: Rung, trouble: Trouble) -> Step:
        """Move a page to a stronger rung, where its tries start at zero. There is no way down, so it ends."""
        higher = page.on(rung.name)
        if rung.lane == self._visit.lane:
            self._frontier.again(higher)
            return self._ended(higher, PageState.PENDING, trouble)
        self._frontier.leave()
        return replace(self._ended(higher, PageState.CLIMBING, trouble), lane=rung.lane)

    def _end(self, page: Page, state: PageState, trouble: Trouble) -> Step:
        chosen = self._frontier.failed(page, trouble)
        lane = self._policy.ladder.named(chosen[0].rung).lane if chosen else ""
        return replace(self._ended(page, state, trouble, trouble.http_status), chosen=chosen, lane=lane)

    def _ended(self, page: Page, state: PageState, trouble: Trouble, status: int | None = None) -> Step:
        return Step(self._visit, PageStep(page, state, trouble, status), facts=self._new_facts.facts())


def our_mistake(page: Page, error: Exception, status: int) -> Trouble:
    """Return the trouble of a page on which our code or a recipe failed; the error is logged with its traceback."""
    log.error("page.unreadable", url=page.url, exc_info=error)
    return Trouble(Reason.INTERNAL, type(error).__name__, status)


def _identity(page: Page, doc: Document, visit: Visit, front: bytes | None) -> bytes:
    """Return the identity of a page: its canonical URL if that is on the same site, else its final URL.

    Many sites name their homepage, under various URLs, as the canonical of every page; these are ignored,
    unless the page is the homepage with other parameters.
    """
    canonical = doc.canonical
    if canonical and canonical != doc.url and site_of_url(canonical) == visit.host and not is_homepage(canonical):
        named = url_key(canonical)
        if named != front or _bare(doc.url) in {_bare(canonical), *map(_bare, visit.entries)}:
            return named
    return page.key if doc.url == page.url else url_key(doc.url)


def _bare(url: str) -> str:
    return url.partition("?")[0]
