"""The walk of one site, level by level. What comes next is a function of rows, never of arrival.

A resumed visit therefore chooses the same pages as one that was never disturbed.
"""

from collections import deque
from collections.abc import Iterable
from datetime import datetime, timedelta

from gossamer.frontier.notes import Notes
from gossamer.model.job import CrawlPolicy
from gossamer.model.page import Page, Visit
from gossamer.model.record import Follow
from gossamer.model.states import PageState, SiteState
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.url import host_of, url_key
from gossamer.store.pages import Known

# Troubles of the way to a host, not of the page: another spelling of the address may work.
NO_WAY_IN = frozenset({Reason.DNS, Reason.UNREACHABLE, Reason.TLS, Reason.TIMEOUT})


class Frontier:
    """Which page is next. Holds the pending pages of the present level and the candidates for the next."""

    def __init__(self, visit: Visit, policy: CrawlPolicy, waiting: Iterable[Page], ended: Iterable[Known]) -> None:
        self._visit = visit
        self._policy = policy
        self._notes = Notes.unpack(visit.notes)
        self._level: deque[Page] = deque()
        self._parked: list[Page] = []
        self._seen: set[int] = set()
        self._keys: set[bytes] = set()
        self._identities: set[bytes] = set()
        self._chosen = 0
        self._entered = False
        self._depth = 0
        self._done = 0
        self._nowhere: set[str] = set()  # names that have no address
        self._verdict: Trouble | None = None
        self._verdict_tries = 0
        for known in ended:
            self._remember(known.url, known.key, known.depth, known.handed)
            self._recall(known)
        for page in waiting:
            self._remember(page.url, page.key, page.depth, page.handed)
            self._queue(page)

    def _remember(self, url: str, key: bytes, depth: int, handed: int) -> None:
        # The string's own hash: 64 bits are plenty within one site, and cost nothing.
        self._seen.add(hash(url))
        self._keys.add(key)
        if not handed:
            # A page another site passed on comes when it comes: it must not move this site's own walk.
            self._chosen += 1
            self._depth = max(self._depth, depth)
        self._entered = self._entered or not handed or url in self._visit.entries

    def _recall(self, known: Known) -> None:
        if known.state is PageState.DONE:
            self._done += 1
        if known.identity is not None:
            self._identities.add(known.identity)
        if known.reason and self._decides(known.depth):
            trouble = Trouble(Reason[known.reason], known.detail, known.http_status)
            self._judge_entry(known.url, trouble, known.tries)

    def _queue(self, page: Page) -> None:
        if page.due_at is None:
            self._level.append(page)
        else:
            self._parked.append(page)

    # Walking

    def next(self, now: datetime) -> Page | None:
        """The next page that is due, in the order of its level."""
        for page in self._parked:
            if page.due_at is not None and page.due_at <= now:
                self._parked.remove(page)
                return page
        return self._level.popleft() if self._level else None

    def wait(self, now: datetime) -> timedelta | None:
        """How long until a parked page is due; None if none is parked."""
        return min((page.due_at - now for page in self._parked if page.due_at is not None), default=None)

    def park(self, page: Page) -> None:
        """The page waits for its `due_at`; its level is not over before it has come."""
        self._parked.append(page)

    def deepen(self) -> tuple[Page, ...]:
        """When a level is over: the pages of the next, or nothing if the walk is."""
        if self._level or self._parked:
            return ()
        if not self._visit.whole:
            return ()
        if not self._entered:
            return self._enter(self._visit.entries[:1])
        room = self._policy.pages_per_site - self._chosen
        if room <= 0 or self._depth >= self._policy.depth:
            return ()
        chosen = self._best(room)
        self._notes.drop(page.url for page in chosen)
        return self._add(chosen)

    def _best(self, room: int) -> list[Page]:
        """Candidates by pages linking there, then by key. Those whose page is known under another name are dropped."""
        ranked = []
        known = []
        for url, candidate in self._notes.candidates.items():
            key = url_key(url)
            if key in self._keys or key in self._identities:
                known.append(url)
            else:
                ranked.append((-candidate.in_links, key, url, candidate.found_on))
        self._notes.drop(known)
        ranked.sort()
        return [
            Page(url=url, key=key, depth=self._depth + 1, found_on=found_on, rank=rank)
            for rank, (_, key, url, found_on) in enumerate(ranked[:room])
        ]

    def _enter(self, urls: Iterable[str]) -> tuple[Page, ...]:
        return self._add([Page.at(url) for url in urls])

    def _add(self, pages: list[Page]) -> tuple[Page, ...]:
        for page in pages:
            self._remember(page.url, page.key, page.depth, page.handed)
            self._level.append(page)
        return tuple(pages)

    # Learning

    def found(self, page: Page, follows: Iterable[Follow]) -> None:
        """Addresses a page leads to. They are kept even if only single pages are wanted of this site by now."""
        for follow in follows:
            if hash(follow.url) not in self._seen:
                self._notes.see(follow.url, page.url)

    def claim_identity(self, identity: bytes) -> bool:
        """False if another page of this site already is what this one turned out to be."""
        if identity in self._identities:
            return False
        self._identities.add(identity)
        return True

    def done(self) -> None:
        self._done += 1

    def failed(self, page: Page, trouble: Trouble) -> tuple[Page, ...]:
        """A page has failed for good. If it was the way in, the next spelling of the entry is chosen instead."""
        if not self._decides(page.depth):
            return ()
        self._judge_entry(page.url, trouble, page.tries)
        if page.url not in self._visit.entries or trouble.reason not in NO_WAY_IN:
            return ()
        return self._enter(self._other_entries(page, trouble)[:1])

    def has_other_entry(self, page: Page, trouble: Trouble) -> bool:
        """Whether a way in that failed need not be tried again, since there is another."""
        known = page.depth == 0 and page.url in self._visit.entries and trouble.reason in NO_WAY_IN
        return known and bool(self._other_entries(page, trouble))

    def _other_entries(self, page: Page, trouble: Trouble) -> list[str]:
        """Spellings not tried yet: none of a name without an address, no other name than one that is only slow."""
        here = host_of(page.url)
        nowhere = self._nowhere | {here} if trouble.reason is Reason.DNS else self._nowhere
        untried = [url for url in self._visit.entries if hash(url) not in self._seen and host_of(url) not in nowhere]
        if trouble.reason is Reason.TIMEOUT:
            return [url for url in untried if host_of(url) == here]
        return untried

    def _decides(self, depth: int) -> bool:
        """Whether a page's failure can be the site's: it is where the site begins, or all there is of it."""
        return depth == 0 or not self._visit.whole

    def _judge_entry(self, url: str, trouble: Trouble, tries: int) -> None:
        if trouble.reason is Reason.DNS:
            self._nowhere.add(host_of(url))
        if trouble.reason in NO_WAY_IN:
            self._chosen -= 1  # an address nobody answers at is not one of the site's pages
        self._verdict, self._verdict_tries = trouble, tries

    # Ending

    @property
    def size(self) -> int:
        """Pages known to exist."""
        return self._chosen + len(self._notes.candidates)

    def notes(self) -> Notes | None:
        """What must be written so that this walk can be taken up again; None if nothing has changed."""
        return self._notes.snapshot()

    @property
    def retries(self) -> int:
        return max(0, self._verdict_tries - 1)

    def outcome(self) -> tuple[SiteState, Trouble | None]:
        """How the site came out, once there is nothing left to walk."""
        if self._done:
            if self._visit.whole and (self._notes.candidates or self._notes.overflow):
                detail = f"{self._chosen:,} of at least {self.size:,} pages"
                return SiteState.PARTIAL, Trouble(Reason.PARTIAL_PAGES, detail)
            return SiteState.DONE, None
        moved = self._verdict is not None and self._verdict.reason in (Reason.MOVED, Reason.SAME_AS)
        return (SiteState.DONE if moved else SiteState.FAILED), self._verdict
