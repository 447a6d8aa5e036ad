"""What a site is no longer tried with: rungs that were paid for in vain, and free ones that keep failing there."""

from gossamer.model.ladders import Ladder
from gossamer.model.trouble import Cure, Reason

MOST_IN_VAIN = 3
MOST_IN_A_ROW = 2


class Spending:
    """What came of the paid requests to one site in one job, from its rows and since."""

    def __init__(self, ladder: Ladder) -> None:
        self._paid = frozenset(rung.name for rung in ladder.rungs if rung.is_paid)
        self._in_vain = 0
        self._worth_it = False

    def read(self, rung: str) -> None:
        self._worth_it |= rung in self._paid

    def failed(self, rung: str, reason: Reason) -> None:
        """A page that does not exist was answered for all the same: that is not the rung's failure."""
        self._in_vain += rung in self._paid and reason.cure is not Cure.NONE

    @property
    def is_hopeless(self) -> bool:
        return self._in_vain >= MOST_IN_VAIN and not self._worth_it


class SkippedRungs:
    """Which free rungs of the operator's own a site is no longer tried with: those that failed twice in a row there."""

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
