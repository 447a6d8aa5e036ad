"""Costs of requests: provider credits, micro-dollars and bytes of paid traffic, always whole numbers.

A reservation holds the worst price of one request before it is sent; a charge replaces it when the
answer has arrived.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from enum import StrEnum
from uuid import UUID

MICROS = 1_000_000  # of a dollar
GIGABYTE = 1_000_000_000
MEGABYTE = 1_000_000
ACCOUNT = "default"
"""The default account, which owns the jobs of the command line."""

LEVELS = (50, 80, 100)
"""Warning levels: percentages of a cap."""


@dataclass(frozen=True, slots=True)
class Amount:
    """A cost in all three currencies."""

    credits: int = 0
    micros: int = 0
    bytes: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.credits + other.credits, self.micros + other.micros, self.bytes + other.bytes)

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(self.credits - other.credits, self.micros - other.micros, self.bytes - other.bytes)

    def __bool__(self) -> bool:
        return bool(self.credits or self.micros or self.bytes)

    def above(self, other: "Amount") -> "Amount":
        """Return by how much each part exceeds the other's."""
        over = self - other
        return Amount(max(0, over.credits), max(0, over.micros), max(0, over.bytes))


NOTHING = Amount()


@dataclass(frozen=True, slots=True)
class Cap:
    """Upper limits; None: no limit. `traffic` covers all incoming bytes, paid or not."""

    credits: int | None = None
    micros: int | None = None
    bytes: int | None = None
    traffic: int | None = None

    def crossed(self, used: Amount) -> str:
        """The name of the first part that is above its limit; "" if none is."""
        parts = ((self.credits, used.credits, "credits"), (self.micros, used.micros, "micros"))
        for most, value, name in (*parts, (self.bytes, used.bytes, "bytes")):
            if most is not None and value > most:
                return name
        return ""

    def is_raised_in(self, later: "Cap") -> bool:
        """Return True if any limit is higher in `later`, or absent there."""
        pairs = ((getattr(self, part.name), getattr(later, part.name)) for part in fields(self))
        return any(most is not None and (more is None or more > most) for most, more in pairs)

    def level(self, used: Amount) -> int:
        """The highest of `LEVELS` that is reached by any part; 0 if none is."""
        parts = ((self.credits, used.credits), (self.micros, used.micros), (self.bytes, used.bytes))
        shares = [value * 100 // most for most, value in parts if most]
        return max((level for level in LEVELS if shares and max(shares) >= level), default=0)


class Scope(StrEnum):
    """Owner of a budget. Budgets are locked in this order."""

    SYSTEM = "system"  # everything of one day
    ACCOUNT = "account"  # what one account spends in a month
    JOB = "job"


@dataclass(frozen=True, slots=True)
class BudgetKey:
    """Names one budget: the system's of a day, an account's of a month, a job's."""

    scope: Scope
    subject: str = ""
    period: str = ""

    @property
    def job_id(self) -> UUID | None:
        return UUID(hex=self.subject) if self.scope is Scope.JOB else None

    @property
    def rank(self) -> tuple[int, str, str]:
        """The lock order of budgets."""
        return list(Scope).index(self.scope), self.subject, self.period


def keys_for(job_id: UUID, day: date, account: str) -> tuple[BudgetKey, BudgetKey, BudgetKey]:
    """Return the budgets that a request of a job counts against, in lock order."""
    return (
        BudgetKey(Scope.SYSTEM, "", day.isoformat()),
        BudgetKey(Scope.ACCOUNT, account, f"{day:%Y-%m}"),
        BudgetKey(Scope.JOB, job_id.hex),
    )


@dataclass(frozen=True, slots=True)
class Budget:
    """A cap with the amounts reserved and spent. `excess` is what providers charged above their known prices."""

    key: BudgetKey
    cap: Cap
    reserved: Amount = NOTHING
    spent: Amount = NOTHING
    excess: Amount = NOTHING
    told: int = 0  # the highest of `LEVELS` that was reported

    @property
    def used(self) -> Amount:
        return self.reserved + self.spent


@dataclass(frozen=True, slots=True)
class Price:
    """Price of one request on a rung."""

    rung: str
    provider: str
    worst: int  # maximum credits
    by_outcome: Mapping[str, int] = field(default_factory=dict)  # credits, for estimates: `ok`, `404`, `failed`
    micros_per_credit: int = 10_000
    micros_per_gigabyte: int = 0

    @property
    def usual(self) -> int:
        """Credits of a page that arrives; the operator's own worst price may be lower than the table's."""
        return min(self.by_outcome.get("ok", self.worst), self.worst)

    def amount(self, cost: int, size: int = 0) -> Amount:
        """Return the cost of these credits, and of these bytes through a proxy paid by traffic."""
        micros = cost * self.micros_per_credit + -(-size * self.micros_per_gigabyte // GIGABYTE)
        return Amount(cost, micros, size)

    def worst_amount(self, size: int = 0) -> Amount:
        """Return the amount to reserve; `size` is the maximum traffic through a proxy paid by traffic."""
        return self.amount(self.worst, size)


@dataclass(frozen=True, slots=True)
class Charge:
    """Cost of a request, which replaces its reservation. A free request leaves no charge."""

    reservation: UUID
    amount: Amount
    assumed: bool = False  # the cost was not reported: the worst price


@dataclass(frozen=True, slots=True)
class Reservation:
    """Room in three budgets for one request, held by the lease of its visit."""

    id: UUID
    job_id: UUID
    site_id: UUID
    visit_id: UUID
    lease: UUID
    page: bytes | None
    price: Price
    worst: Amount
    day: date  # the day whose budget pays, whenever it is settled
    at: datetime

    def charge(self, cost: int | None, size: int = 0) -> Charge:
        """Return the charge for `cost` credits as reported by the provider; None (not reported): the worst price."""
        if cost is None:
            return Charge(self.id, self.price.worst_amount(max(size, self.worst.bytes)), assumed=True)
        return Charge(self.id, self.price.amount(cost, size))


class Why(StrEnum):
    """Reasons for refusing a reservation."""

    CAP = "cap"  # a cap would be exceeded: the job pauses
    CROWDED = "crowded"  # exceeded only by reservations, which may turn out cheaper: worth a retry
    CLOSED = "closed"  # the rung charged more than its price: not used until the price is corrected
    LEASE = "lease"  # the visit is no longer ours


@dataclass(frozen=True, slots=True)
class BudgetRefusal:
    """Refusal of a reservation. `budget` and `part` name the cap that would be exceeded."""

    why: Why
    budget: BudgetKey | None = None
    part: str = ""
    used: int = 0  # amount of that part, including reservations


def shown(part: str, value: int) -> str:
    """`5,000 credits`, `$50.00`, `50 MB of residential traffic`."""
    match part:
        case "micros":
            return dollars(value)
        case "bytes":
            return f"{value / MEGABYTE:,.0f} MB of residential traffic"
        case "traffic":
            return f"{value / MEGABYTE:,.0f} MB of traffic"
    return f"{value:,} credit{'' if value == 1 else 's'}"


def dollars(micros: int) -> str:
    """Format an amount as `$48.32`; small amounts get as many digits as needed."""
    if 0 < micros < MICROS // 100:
        return f"${micros / MICROS:.6f}".rstrip("0")
    return f"${micros / MICROS:,.2f}"
