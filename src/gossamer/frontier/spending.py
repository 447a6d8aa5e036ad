"""When to stop paying for a site: three pages that money did not bring, and none that it did."""

from gossamer.model.fetching import Ladder
from gossamer.model.trouble import Cure, Reason

MOST_IN_VAIN = 3


class Spending:
    """What came of the paid requests to one site in one job, from its rows and since."""

    def __init__(self, ladder: Ladder) -> None:
        self._paid = frozenset(rung.name for rung in ladder.rungs if rung.paid)
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
