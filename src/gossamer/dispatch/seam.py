"""Between the issuer and the workers: the hint that a visit may have a slice now."""

from dataclasses import dataclass
from typing import Protocol
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Nudge:
    """Give this visit a slice. The row decides whether there is anything to do."""

    visit: UUID
    lane: str


class Dispatcher(Protocol):
    """Carries nudges. One may be lost, doubled or late; the claim of the visit's row makes that harmless."""

    async def send(self, nudge: Nudge) -> bool:
        """Pass a nudge on. Never waits for a receiver; False if it is known to be lost, as after `close`."""
        ...

    async def receive(self, most: int) -> list[Nudge]:
        """Return up to `most` nudges, as soon as there is one; an empty list once the dispatcher is closed.

        A nudge goes to one receiver. If that one dies or is cancelled while waiting, no other nudge is lost with it.
        """
        ...

    def done(self, nudge: Nudge) -> None:
        """Acknowledge a received nudge. Until then it can be delivered to another receiver if this one dies."""
        ...

    async def close(self) -> None:
        """Wake all receivers a last time and forget what was not received: the rows know it. May repeat."""
        ...
