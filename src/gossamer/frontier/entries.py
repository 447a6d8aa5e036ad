"""The ways into a site: which spelling of its homepage is tried, and what it means when none works."""

from gossamer.model.page import Page, Visit
from gossamer.model.trouble import NO_WAY_IN, NOT_REACHED, NOT_THERE, Reason, Trouble
from gossamer.model.url import host_of


class Entries:
    """What was tried of a site's entries and how it went."""

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
        """A page of the site exists. One that is no part of the walk is no way in, unless it is an entry."""
        self.entered = self.entered or not apart or url in self._visit.entries
        if url in self._visit.entries:
            self._tried.add(url)

    def answered(self, url: str, depth: int, identity: bytes | None) -> None:
        """A page was read. What another site passed on comes when it comes: it is the front of nothing."""
        if depth == 0 and self.home is None:
            self.home = url
        if self.front is None and self._visit.whole and url in self._visit.entries:
            self.front = identity

    def first(self) -> list[Page]:
        return [Page.at(url) for url in self._visit.entries[:1]]

    def instead_of(self, page: Page, trouble: Trouble, rank: int) -> list[Page]:
        """The next spelling after one that led nowhere, if there is one."""
        return [Page.at(url, rank=rank) for url in self.others(page, trouble)[:1]]

    def others(self, page: Page, trouble: Trouble) -> list[str]:
        """Spellings not tried yet: none of a name without an address, no other name than one that is only slow."""
        if page.url not in self._visit.entries or trouble.reason not in NO_WAY_IN:
            return []
        here = host_of(page.url)
        nowhere = self._nowhere | {here} if trouble.reason is Reason.DNS else self._nowhere
        untried = [url for url in self._visit.entries if url not in self._tried and host_of(url) not in nowhere]
        if trouble.reason is Reason.TIMEOUT:
            return [url for url in untried if host_of(url) == here]
        return untried

    def decides(self, depth: int) -> bool:
        """Whether a page's failure can be the site's: it is where the site begins, or all there is of it."""
        return depth == 0 or not self._visit.whole

    def judge(self, url: str, trouble: Trouble, tries: int) -> None:
        if trouble.reason is Reason.DNS:
            self._nowhere.add(host_of(url))
        if trouble.reason in NOT_REACHED and url in self._visit.entries and self._not_reached is None:
            self._not_reached = trouble
        self._last, self._tries = trouble, tries

    def leads_nowhere(self, trouble: Trouble) -> bool:
        """True if an entry that failed this way is no page of the site.

        A 404 counts as one only where every spelling before it was reached: whether the first one answers must not
        change how large a site is said to be that was never read.
        """
        return trouble.reason in NO_WAY_IN or (trouble.reason in NOT_THERE and self._not_reached is not None)

    @property
    def verdict(self) -> Trouble | None:
        """Why the site could not be entered. Where a spelling was not reached, no other one's 404 is the last word."""
        if self._last and self._last.reason in NOT_THERE and self._not_reached:
            return self._not_reached
        return self._last

    @property
    def retries(self) -> int:
        return max(0, self._tries - 1)
