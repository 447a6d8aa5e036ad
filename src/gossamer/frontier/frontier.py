"""The crawl of one site, level by level.

The next page depends only on stored rows, never on the order in which answers arrive. A resumed visit therefore chooses
the same pages as one that was never disturbed.

A site's pages may be in several lanes. Its visit in the home lane chooses them all, and a level is over when all of its
pages are, wherever they were read. A visit in another lane walks what it was given and chooses nothing.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from gossamer.frontier.candidates import Candidates, Level, SitemapQueue, scope_of, written_out
from gossamer.frontier.notes import Notes
from gossamer.judge.rung_stats import is_probe
from gossamer.model.job import CrawlPolicy
from gossamer.model.page import Page, Visit
from gossamer.model.rungs import DIRECT, HOME_LANE, Ladder, Rung
from gossamer.model.states import PageState, SiteState
from gossamer.model.trouble import NO_WAY_IN, NOT_REACHED, NOT_THERE, Cure, Reason, Trouble
from gossamer.model.url import host_of
from gossamer.store.pages import EndedPage
from gossamer.store.sites import LISTED


class Entries:
    """Tried entry URLs of a site, and their outcomes."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self._tried: set[str] = set()
        self._nowhere: set[str] = set()  # names that have no address
        self._tries = 0
        self.entered = False
        self.home: str | None = None  # the first that was a page
        self.front: bytes | None = None  # what page the entry turned out to be
        self._last: Trouble | None = None
        self._not_reached: Trouble | None = None  # of the first spelling at which nobody was

    def met(self, url: str, apart: bool) -> None:
        """Record that a page of the site exists; a page apart from the walk opens the site only as an entry."""
        self.entered = self.entered or not apart or url in self._visit.entries
        if url in self._visit.entries:
            self._tried.add(url)

    def answered(self, url: str, depth: int, identity: bytes | None) -> None:
        """Record that a page was read.

        Only an entry URL becomes `front`: pages passed on by other sites arrive in no fixed order.
        """
        if depth == 0 and self.home is None:
            self.home = url
        if self.front is None and self._visit.whole and url in self._visit.entries:
            self.front = identity

    def first(self) -> list[Page]:
        return [Page.at(url) for url in self._visit.entries[:1]]

    def instead_of(self, page: Page, trouble: Trouble, rank: int) -> list[Page]:
        """Return the next entry URL after one that led nowhere, if there is one."""
        return [Page.at(url, rank=rank) for url in self.others(page, trouble)[:1]]

    def others(self, page: Page, trouble: Trouble) -> list[str]:
        """Return the untried entry URLs, without hosts that have no DNS address; after a timeout, only this host's."""
        if page.url not in self._visit.entries or trouble.reason not in NO_WAY_IN:
            return []
        here = host_of(page.url)
        nowhere = self._nowhere | {here} if trouble.reason is Reason.DNS else self._nowhere
        untried = [url for url in self._visit.entries if url not in self._tried and host_of(url) not in nowhere]
        if trouble.reason is Reason.TIMEOUT:
            return [url for url in untried if host_of(url) == here]
        return untried

    def decides(self, depth: int) -> bool:
        """Return True if a page's failure can count as the site's: it is the entry, or the only page of the site."""
        return depth == 0 or not self._visit.whole

    def judge(self, url: str, trouble: Trouble, tries: int) -> None:
        if trouble.reason is Reason.DNS:
            self._nowhere.add(host_of(url))
        if trouble.reason in NOT_REACHED and url in self._visit.entries and self._not_reached is None:
            self._not_reached = trouble
        self._last, self._tries = trouble, tries

    def leads_nowhere(self, trouble: Trouble) -> bool:
        """True if an entry that failed this way is not a page of the site.

        A 404 counts only if every spelling before it was reached: otherwise the reported size of a site that was
        never read would depend on the availability of the first spelling.
        """
        return trouble.reason in NO_WAY_IN or (trouble.reason in NOT_THERE and self._not_reached is not None)

    @property
    def verdict(self) -> Trouble | None:
        """Return the reason why the site could not be entered.

        If one spelling could not be reached, that outweighs the 404 of another.
        """
        if self._last and self._last.reason in NOT_THERE and self._not_reached:
            return self._not_reached
        return self._last

    @property
    def retries(self) -> int:
        return max(0, self._tries - 1)


MOST_IN_VAIN = 3
MOST_IN_A_ROW = 2


class PaidOutcomes:
    """Outcomes of the paid requests to one site in one job, from its rows and since."""

    def __init__(self, ladder: Ladder) -> None:
        self._paid = frozenset(rung.name for rung in ladder.rungs if rung.is_paid)
        self._in_vain = 0
        self._worth_it = False

    def read(self, rung: str) -> None:
        self._worth_it |= rung in self._paid

    def failed(self, rung: str, reason: Reason) -> None:
        """Count a failed paid request. A missing page does not count: the rung did answer."""
        self._in_vain += rung in self._paid and reason.cure is not Cure.NONE

    @property
    def is_hopeless(self) -> bool:
        return self._in_vain >= MOST_IN_VAIN and not self._worth_it


class SkippedRungs:
    """The operator's own free rungs that are skipped for a site, after failing twice in a row there."""

    def __init__(self, ladder: Ladder) -> None:
        # One that a job begins with is all it has.
        self._failures = {rung.name: 0 for rung in ladder.rungs[1:] if rung.is_own_server}
        self.names: frozenset[str] = frozenset()

    def worked(self, rung: str) -> None:
        if rung in self._failures:
            self._failures[rung] = 0

    def failed(self, rung: str, reason: Reason, tries: int = 1) -> None:
        """A page that does not exist shows that the rung works."""
        if rung not in self._failures:
            return
        self._failures[rung] = 0 if reason.cure is Cure.NONE else self._failures[rung] + tries
        if self._failures[rung] >= MOST_IN_A_ROW:
            self.names |= {rung}


# Failures that say nothing about the page: the site, or the way to it, was not there any more.
_AWAY = frozenset({
    *(Reason.DNS, Reason.NAME_SERVER, Reason.UNREACHABLE, Reason.TLS, Reason.TIMEOUT, Reason.CUT_OFF, Reason.PROXY),
    *(Reason.RATE_LIMITED, Reason.UNAVAILABLE, Reason.SERVER_ERROR, Reason.ASKED_TO_WAIT, Reason.NEVER_VISIT),
    Reason.SITE_DOWN,
})  # fmt: skip
_NOTICED, _NOTICED_SHARE = 5, 10  # so many of them, and more than one page in so many

_MOST_REFUSED = 3  # pages in a row, each after all its tries

MOST_AT_A_TIME = 1_000  # pages of one choice, and so of one visit in memory
_FEW, _SHARE = 10, 5  # of a large site so many pages, or this part of all, are chosen at a time


class Frontier:
    """Which page is next. Holds the pending pages of the present level and the candidates for the next."""

    def __init__(
        self,
        visit: Visit,
        policy: CrawlPolicy,
        waiting: Iterable[Page],
        ended: Iterable[EndedPage],
        elsewhere: Iterable[Page] = (),
        begin: Rung | None = None,
    ) -> None:
        """`elsewhere` are pages of the site that wait in other lanes; `begin` is where most pages begin to climb."""
        self._visit = visit
        self._policy = policy
        self._conducts = visit.lane == HOME_LANE
        self._elsewhere = 0
        self._begin = begin or policy.ladder.first
        self._notes = Notes.unpack(visit.notes)
        self._entries = Entries(visit)
        self._queue: deque[Page] = deque()
        self._parked: list[Page] = []
        self._level = Level()
        self._passed_on: dict[str, Level] = {}  # of pages that are no part of the walk, each by itself
        self._steps: Counter[str] = Counter()  # of pages that the recipe has asked for
        self._identities: set[bytes] = set()
        self._keys: set[bytes] = set()
        self._chosen = 0
        self._ranked = 0
        self._done = 0
        self._rendering = frozenset(rung.name for rung in policy.ladder.rungs if rung.renders)
        self.rendered = 0  # pages that could only be read by running their scripts
        self._spending = PaidOutcomes(policy.ladder)
        self.skipped_rungs = SkippedRungs(policy.ladder)
        self._out_of_time: Trouble | None = None  # of a page that another lane had no time for
        self._away: Counter[Reason] = Counter()
        self._refused = 0  # pages in a row
        self._candidates = Candidates(visit.host, scope_of(policy), policy, self._notes)
        self.sitemaps = SitemapQueue(visit.host, self._candidates, self._notes)
        for known in ended:
            self._remember(known.url, known.key, known.rank, known.is_apart)
            if known.step:
                self._steps[known.step] += 1
            self._recall(known)
        for page in waiting:
            self._expect(page)
            self._put(page)
        for page in elsewhere:
            self._expect(page)
            self._elsewhere += 1

    def _expect(self, page: Page) -> None:
        self._remember(page.url, page.key, page.rank, page.is_apart)
        if page.request:
            self._steps[page.step] += 1

    def _remember(self, url: str, key: bytes, rank: int, apart: bool) -> None:
        self._candidates.seen(url)
        self._keys.add(key)
        self._entries.met(url, apart)
        if not apart:
            # A page another site passed on comes when it comes: it must not move this site's own walk.
            self._chosen += 1
            self._ranked = max(self._ranked, rank + 1)

    def _recall(self, known: EndedPage) -> None:
        if known.state is PageState.DONE:
            self._done += 1
            self.rendered += known.rung in self._rendering
            self._spending.read(known.rung)
            self.skipped_rungs.worked(known.rung)
            self._entries.answered(known.url, known.depth, known.identity)
        if known.identity is not None:
            self._identities.add(known.identity)
        # What a passed-on page leads to is taken again, which changes nothing: its rank does not tell that it was.
        if known.links and (known.is_apart or known.rank >= self._notes.as_of):
            self._level_of(known.url, known.is_apart).recall(known.rank, known.url, known.depth, known.links)
        if known.reason == Reason.PARTIAL_TIME.name:
            self._out_of_time = Trouble(Reason.PARTIAL_TIME, known.detail)
        if known.state is not PageState.SKIPPED or known.http_status is not None:  # the site has answered, or was asked
            self._count_refusals(known.reason, known.http_status)
        if known.state is PageState.FAILED:
            self._away.update({Reason[known.reason]} & _AWAY)
            self._spending.failed(known.rung, Reason[known.reason])
            self.skipped_rungs.failed(known.rung, Reason[known.reason], max(1, known.tries))
        if known.reason and self._entries.decides(known.depth):
            trouble = Trouble(Reason[known.reason], known.detail, known.http_status)
            self._judge(known.url, trouble, known.tries, known.is_apart)

    def _put(self, page: Page) -> None:
        if page.due_at is None:
            self._queue.append(page)
        else:
            self._parked.append(page)

    # Walking

    def next(self, now: datetime) -> Page | None:
        """The next page that is due, in the order of its level."""
        for page in self._parked:
            if page.due_at is not None and page.due_at <= now:
                self._parked.remove(page)
                return page
        return self._queue.popleft() if self._queue else None

    def wait(self, now: datetime) -> timedelta | None:
        """Return the time until a parked page is due; None if none is parked."""
        return min((page.due_at - now for page in self._parked if page.due_at is not None), default=None)

    def park(self, page: Page) -> None:
        """The page waits for its `due_at`; its level is not over before it has come."""
        self._parked.append(page)

    def again(self, page: Page) -> None:
        """The page is tried once more, before any other."""
        self._queue.appendleft(page)

    def leave(self) -> None:
        """Count a page that continues in another lane; its level is over only when it has ended there."""
        self._elsewhere += 1

    @property
    def steps(self) -> Iterable[str]:
        """The steps of pages that the recipe requested."""
        return self._steps.keys()

    @property
    def is_over(self) -> bool:
        """True if the site has no waiting page in any lane, and this visit decides what follows."""
        return self._conducts and not (self._queue or self._parked or self._elsewhere)

    @property
    def asks(self) -> bool:
        """True if pages or sitemaps have to be requested before the next level is chosen."""
        return bool(self._queue or self._parked) or self.wants_sitemaps

    @property
    def is_worth_paying(self) -> bool:
        """True if a paid request to this site may still give a result."""
        return not self._spending.is_hopeless

    @property
    def wants_sitemaps(self) -> bool:
        """True if it is time to read the sitemaps: the site is valid, and only its entry is chosen so far."""
        over = self.is_over
        further = self._visit.whole and self._policy.depth > 0 and self._policy.pages_per_site > 1
        further = further and not self._visit.before
        return over and further and self.home is not None and not self.sitemaps.over

    @property
    def home(self) -> str | None:
        """The address at which the site was entered, once it was."""
        return self._entries.home

    @property
    def front(self) -> bytes | None:
        """The page that the site's entry turned out to be, once it was read."""
        return self._entries.front

    def begin_sitemaps(self, named: Iterable[str]) -> None:
        """Start the sitemaps, after the links of the homepage: a long sitemap may leave no room for those."""
        if self.home is not None and not self.sitemaps.begun:
            self._fold()
            self.sitemaps.begin(named, self.home)

    def deepen(self) -> tuple[Page, ...]:
        """Choose the pages of the next level once a level is finished; empty if the crawl of the site is over."""
        if not self.is_over or not self._visit.whole or self._visit.before:
            return ()
        if not self._entries.entered:
            return self._add(self._entries.first())
        self._fold()
        room = self._room()
        if room <= 0:
            return ()
        best = self._candidates.best(min(room, MOST_AT_A_TIME), self._policy.depth)
        pages = [
            Page(url=url, key=key, depth=one.depth, found_on=one.found_on, rank=self._ranked + place)
            for place, (key, url, one) in enumerate(best)
        ]
        return self._add(pages)

    def _fold(self) -> None:
        """The links of the level that is over become candidates."""
        homeless = self._candidates.take(self._level)
        homeless += sum(self._candidates.take(level) for _, level in sorted(self._passed_on.items()))
        self._passed_on.clear()
        self._candidates.drop_known(self._keys | self._identities)
        self._level = Level()
        self._notes.reached = max(self._notes.reached, self._chosen + self._candidates.number + homeless)
        self._notes.as_of = self._ranked
        self._notes.changed = True

    def _room(self) -> int:
        """Return the number of pages that the next level may have.

        A large site is read in small portions, so that link counts can guide the choice.
        """
        threshold = self._policy.pages_per_site
        self._notes.large = self._notes.large or self.size > threshold
        if not self._notes.large:
            return threshold - self._chosen
        top = min(self._policy.top_pages, threshold)
        return min(top - self._chosen, max(_FEW, top // _SHARE))

    def _add(self, pages: list[Page]) -> tuple[Page, ...]:
        placed = [(page, self._first_rung(page)) for page in pages]
        for at, (page, rung) in enumerate(placed):
            self._remember(page.url, page.key, page.rank, page.is_apart)
            if rung is not DIRECT:
                pages[at] = page = page._replace(rung=rung.name)
            if rung.lane == self._visit.lane:
                self._queue.append(page)
            else:
                self._elsewhere += 1
        return tuple(pages)

    def ask(
        self, pages: Iterable[Page], policy: Callable[[str], CrawlPolicy], *, here: bool = True
    ) -> tuple[Page, ...]:
        """Take pages of the site that its recipe asks for, in this lane or in others; those of them that are new and
        within the limits."""
        taken = []
        for page in pages:
            limits = policy(page.step)
            if page.key in self._keys:
                continue
            if page.depth > limits.depth or self._steps[page.step] >= limits.pages_per_site:
                self._notes.cut += 1
                self._notes.changed = True
                continue
            self._expect(page)
            if here:
                self._queue.append(page)
            else:
                self._elsewhere += 1
            taken.append(page)
        return tuple(taken)

    def _first_rung(self, page: Page) -> Rung:
        """Return the rung of a new page: the one known to work here, or the first for a few pages that test it."""
        return self._policy.ladder.first if is_probe(page.key) else self._begin

    # Learning

    def found(self, page: Page, links: Iterable[str]) -> bytes:
        """Record the addresses on its site that a page links to; return the part that its row must keep.

        This includes pages that another site's redirect led to, when only that page is wanted: the whole site may
        be wanted later.
        """
        if not self._conducts:
            return written_out(links)
        return self._level_of(page.url, page.is_apart).add(page.rank, page.url, page.depth, links)

    def _level_of(self, url: str, apart: bool) -> Level:
        """Return the level that a page's links are stored in.

        A page passed on to another lane arrives at an arbitrary time and belongs to no level: its links are
        followed, but have no weight.
        """
        return self._passed_on.setdefault(url, Level(weight=0)) if apart else self._level

    def has_read(self, identity: bytes) -> bool:
        """Return True if another page of this site has the same identity as this one."""
        return identity in self._identities

    def _count_refusals(self, reason: str, status: int | None) -> None:
        refused = status == 429 or reason == Reason.ASKED_TO_WAIT.name
        self._refused = self._refused + 1 if refused else 0

    @property
    def refusal(self) -> Trouble | None:
        """Return the reason to give up the waiting pages: all pages before them were refused, despite waiting."""
        if self._refused < _MOST_REFUSED or not (self._queue or self._parked):
            return None
        return Trouble(Reason.ASKED_TO_WAIT, "again and again")

    def done(self, page: Page, identity: bytes) -> None:
        self._identities.add(identity)
        self._done += 1
        self._refused = 0
        self.rendered += page.rung in self._rendering
        self._spending.read(page.rung)
        self._entries.answered(page.url, page.depth, identity)

    def failed(self, page: Page, trouble: Trouble) -> tuple[Page, ...]:
        """A page ends without having been read. If it was the way in, the next spelling of the entry is chosen."""
        self._away.update({trouble.reason} & _AWAY)
        self._count_refusals(trouble.reason.name, trouble.http_status)
        self._spending.failed(page.rung, trouble.reason)
        if not self._entries.decides(page.depth):
            return ()
        self._judge(page.url, trouble, page.tries, page.is_apart)
        return () if page.request else self._add(self._entries.instead_of(page, trouble, self._ranked))

    def has_other_entry(self, page: Page, trouble: Trouble) -> bool:
        """Return True if a failed entry need not be retried, because there is another one."""
        return page.depth == 0 and page.request is None and bool(self._entries.others(page, trouble))

    def _judge(self, url: str, trouble: Trouble, tries: int, apart: bool) -> None:
        self._entries.judge(url, trouble, tries)
        if not apart and self._visit.whole and self._entries.leads_nowhere(trouble):
            self._chosen -= 1  # an address without an answer is not one of the site's pages

    # Ending

    @property
    def size(self) -> int:
        """Pages known to exist."""
        if self._policy.as_given and len(self._visit.entries) > 1:
            return 1  # one address that was written without a scheme, however many spellings of it are tried
        listed = self._notes.sitemaps.listed
        return max(listed + 1 if listed else 0, self._notes.reached, self._chosen + self._candidates.number)

    @property
    def read(self) -> int:
        """Pages of the site that were read, in whatever lane."""
        return self._done

    @property
    def size_source(self) -> str:
        if self._policy.as_given:
            return LISTED
        return "sitemap" if self._notes.sitemaps.listed else "links"

    def notes(self) -> Notes | None:
        """Return the notes that have to be stored to resume this crawl; None if nothing has changed."""
        return self._notes.snapshot()

    @property
    def retries(self) -> int:
        return self._entries.retries

    def outcome(self) -> tuple[SiteState, Trouble | None]:
        """Return the final state of the site, once no pages are left to crawl."""
        if not self._done:
            verdict = self._entries.verdict
            moved = verdict is not None and verdict.reason in (Reason.MOVED, Reason.SAME_AS)
            return (SiteState.DONE if moved else SiteState.FAILED), verdict
        if self._out_of_time:
            return SiteState.PARTIAL, self._out_of_time
        if left := self._left_out():
            return SiteState.PARTIAL, Trouble(Reason.PARTIAL_PAGES, left)
        if Reason.NEVER_VISIT in self._away or self._is_noticed():
            reason, times = self._away.most_common(1)[0]
            why = Trouble(reason).sentence.partition(" (")[0]
            detail = f"{self._away.total():,} of {self._chosen:,} pages failed, {times:,} of them: {why}"
            return SiteState.PARTIAL, Trouble(Reason.PARTIAL_FAILED, detail)
        if self._visit.whole and self._notes.trapped:
            detail = f"{self._notes.trap}, {self._done:,} pages read"
            return SiteState.PARTIAL, Trouble(Reason.PARTIAL_TRAP, detail)
        return SiteState.DONE, None

    def _left_out(self) -> str:
        """Describe which part of the site was read, if more could have been read."""
        if self._visit.whole and self._candidates.any_left:
            counted = f"{self._done:,} of at least {self.size:,} pages"
            return f"large site: {counted}" if self._notes.large else counted
        return f"{self._done:,} pages, {self._notes.cut:,} more than the recipe reads" if self._notes.cut else ""

    def _is_noticed(self) -> bool:
        """Return True if too many pages failed for temporary reasons for the site to count as read."""
        lost = self._away.total()
        return lost >= _NOTICED and lost * _NOTICED_SHARE > self._chosen
