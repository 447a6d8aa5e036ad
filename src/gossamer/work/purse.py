"""Where money will stand on the path: around every request on a rung that costs something, and around no other.

The courier asks its purse before a paid request and tells it afterwards. Free rungs never come here.
"""

from typing import Protocol

from gossamer.model.fetching import Response, Rung
from gossamer.model.page import Visit


class Payment(Protocol):
    """What was put aside for one request."""

    async def settle(self, answer: Response | None) -> None:
        """The request is over: what it cost stands in the answer; without one, nobody knows what it cost."""
        ...

    async def give_back(self) -> None:
        """Nothing was sent."""
        ...


class Purse(Protocol):
    """Of one process."""

    async def put_aside(self, visit: Visit, rung: Rung, url: str) -> Payment:
        """As much as the request may cost at worst; raises what ends the slice when there is not so much left."""
        ...
