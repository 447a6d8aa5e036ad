"""Payment of requests: reservation and charge of every request on a paid rung, and of no others.

The worst price of a request is reserved before it is sent. Its real cost is booked with the next step
of the visit, in the transaction that writes the request's results.
"""

from dataclasses import dataclass, field
from typing import Protocol

from gossamer.model.money import BudgetRefusal, Charge, Reservation
from gossamer.model.page import Visit
from gossamer.model.rungs import Rung
from gossamer.model.url import url_key


class Treasury(Protocol):
    """Interface of the budgets: see billing/reservations.py."""

    async def reserve(
        self, visit: Visit, rung: str, *, page: bytes | None = None, size: int = 0
    ) -> Reservation | BudgetRefusal: ...

    def release(self, reservation: Reservation) -> None: ...


@dataclass(slots=True)
class RequestBudget:
    """Of one visit."""

    treasury: Treasury
    visit: Visit
    charges: list[Charge] = field(default_factory=list)  # of requests that are over and not yet in the rows

    async def put_aside(self, rung: Rung, url: str) -> Reservation | BudgetRefusal:
        """As much as the request may cost at worst, or why there is not so much left."""
        return await self.treasury.reserve(self.visit, rung.name, page=url_key(url))

    def pay(self, reservation: Reservation, cost: int | None) -> None:
        """Charge a finished request. None: its cost is unknown, and taken as the worst price."""
        self.charges.append(reservation.charge(cost))

    def give_back(self, reservation: Reservation) -> None:
        """Nothing was sent."""
        self.treasury.release(reservation)

    def take_charges(self) -> tuple[Charge, ...]:
        taken = tuple(self.charges)
        self.charges.clear()
        return taken
