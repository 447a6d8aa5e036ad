"""The ledger's transactions: room is taken for requests, and given back or turned into charges."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from uuid import UUID

from sqlalchemy import delete

from gossamer.model.alert import AlertKind
from gossamer.model.ids import short
from gossamer.model.money import (
    NOTHING,
    Amount,
    Budget,
    BudgetKey,
    Cap,
    Charge,
    Refusal,
    Reservation,
    Scope,
    Why,
    keys_for,
    shown,
)
from gossamer.model.sentences import ALERTS, PAUSES
from gossamer.model.states import OVER
from gossamer.store import alerts, budgets, charges, job_keys, jobs, outbox, reservations
from gossamer.store.budgets import BudgetChange
from gossamer.store.ledger_tables import PARTS, closed_rungs
from gossamer.store.outlook import Asked, Outlook, look
from gossamer.store.pausing import pause_by_itself
from gossamer.store.reservations import Taken
from gossamer.store.tx import Tx


def reserve(tx: Tx, asked: Sequence[Asked], caps: Mapping[Scope, Cap]) -> list[Reservation | Refusal]:
    """For each of them the worst price in all three budgets, or why not, in their order.

    `caps` are the operator's: those of the system and of accounts hold as they are now, that of a job only for one
    that came without.
    """
    outlook = look(tx, asked, caps)
    day = outlook.day
    held = {key: _capped(budget, caps) for key, budget in outlook.budgets.items()}
    taken: dict[BudgetKey, Amount] = defaultdict(lambda: NOTHING)
    answers: list[Reservation | Refusal] = []
    fresh: list[Reservation] = []
    for one in asked:
        granted = one.granted(day, tx.now)
        if one.id in outlook.known:
            answers.append(granted)
            continue
        wanted = keys_for(one.visit.job_id, day, one.visit.account)
        refusal = _unfit(one, outlook) or _too_much(one, [(held[key], taken[key]) for key in wanted])
        answers.append(refusal or granted)
        if refusal is None:
            fresh.append(granted)
            for key in wanted:
                taken[key] += one.worst
    more = sorted(((key, amount) for key, amount in taken.items() if amount), key=lambda one: one[0].rank)
    budgets.reserve(tx, {key: (held[key].cap, amount) for key, amount in more})
    reservations.add(tx, fresh)
    _reopen(tx, asked, outlook)
    return answers


def _capped(budget: Budget, caps: Mapping[Scope, Cap]) -> Budget:
    return budget if budget.key.scope is Scope.JOB else replace(budget, cap=caps[budget.key.scope])


def _unfit(one: Asked, outlook: Outlook) -> Refusal | None:
    if one.visit.lease in outlook.lost:
        return Refusal(Why.LEASE)
    charged = outlook.closed.get(one.price.rung, 0)
    return Refusal(Why.CLOSED, part=one.price.rung, used=charged) if charged > one.price.worst else None


def _too_much(one: Asked, budgets_of_it: Iterable[tuple[Budget, Amount]]) -> Refusal | None:
    for budget, taken in budgets_of_it:
        used = budget.used + taken
        part = budget.cap.crossed(used + one.worst)
        if part:
            # What is only reserved may come back.
            why = Why.CAP if budget.cap.crossed(budget.spent + one.worst) else Why.CROWDED
            return Refusal(why, budget.key, part, getattr(used, part))
    return None


def _reopen(tx: Tx, asked: Sequence[Asked], outlook: Outlook) -> None:
    """A rung whose price was corrected is open again."""
    prices = {one.price.rung: one.price for one in asked}
    for rung, charged in outlook.closed.items():
        if rung in prices and charged <= prices[rung].worst:
            tx.run(delete(closed_rungs).where(closed_rungs.c.rung == rung))
            alerts.clear(tx, AlertKind.OVERCHARGE, rung)


def settle(tx: Tx, booked: Sequence[Charge]) -> None:
    """Charges in place of their reservations. One whose reservation is gone was booked before, or assumed."""
    by_id = {charge.reservation: charge for charge in booked}
    _close(tx, reservations.take(tx, sorted(by_id)), by_id)


def release(tx: Tx, ids: Sequence[UUID]) -> int:
    """Give back what was reserved for requests that were never made, or cost nothing; how many there were."""
    taken = reservations.take(tx, ids)
    _close(tx, taken, {})
    return len(taken)


def assume(tx: Tx, ids: Sequence[UUID]) -> int:
    """Nobody knows any more what these requests have cost: the worst, and marked."""
    taken = reservations.take(tx, ids)
    _close(tx, taken, {one.id: Charge(one.id, one.worst, assumed=True) for one in taken})
    return len(taken)


def _close(tx: Tx, taken: Sequence[Taken], costs: Mapping[UUID, Charge]) -> None:
    if not taken:
        return
    changes: dict[BudgetKey, BudgetChange] = defaultdict(BudgetChange)
    booked: list[tuple[Taken, Charge]] = []
    whose = budgets.accounts_of(tx, {one.job_id for one in taken})
    for one in taken:
        charge = costs.get(one.id)
        cost = charge.amount if charge else NOTHING
        if charge and cost:
            booked.append((one, charge))
        for key in keys_for(one.job_id, date.fromisoformat(one.day), whose[one.job_id]):
            change = changes[key]
            change.reserved -= one.worst
            change.spent += cost
            change.excess += cost.above(one.worst)
    charges.add(tx, booked)
    # As late as can be: every paid request of all jobs waits for these rows.
    for budget in budgets.close(tx, budgets.hold(tx, list(changes)), changes):
        _tell(tx, budget)
    for one, charge in booked:
        if charge.amount.credits > one.worst.credits:
            _overcharged(tx, one, charge)


def _tell(tx: Tx, budget: Budget) -> None:
    """Of a cap of which more is spent than people were told of."""
    part = max(
        (part for part in PARTS if getattr(budget.cap, part)),
        key=lambda part: getattr(budget.spent, part) / getattr(budget.cap, part),
    )
    job_id = budget.key.job_id
    whose = f"of job {short(job_id)}" if job_id else f"of {budget.key.period}"
    spent, most = (shown(part, getattr(of, part)) for of in (budget.spent, budget.cap))
    sentence = ALERTS[AlertKind.SPENDING].format(percent=budget.told, whose=whose, spent=spent, most=most)
    # Requests that were in flight when a job was cancelled are paid for, and nobody has to look after its budget.
    if job_id is None or jobs.states(tx, [job_id]).get(job_id) not in OVER:
        alerts.fire(tx, AlertKind.SPENDING, alerts.spending_subject(budget.key, budget.told), sentence, job_id=job_id)
    outbox.budget_reached(tx, budget, sentence)


def _overcharged(tx: Tx, one: Taken, charge: Charge) -> None:
    """A request that cost more than it ever should: it is paid, and nobody asks for another one.

    What somebody's own key is charged is between them and the provider: only their job pauses.
    """
    figures = {"rung": one.rung, "charged": charge.amount.credits, "worst": one.worst.credits}
    if job_keys.is_paid_by(tx, one.job_id, one.provider):
        kind = AlertKind.JOB_OVERCHARGE
        pause_by_itself(tx, one.job_id, kind, PAUSES[kind].format(**figures, job=short(one.job_id)))
        return
    _shut(tx, one, charge)
    alerts.fire(tx, AlertKind.OVERCHARGE, one.rung, ALERTS[AlertKind.OVERCHARGE].format(**figures))


def _shut(tx: Tx, one: Taken, charge: Charge) -> None:
    upsert = tx.dialect.insert(closed_rungs)
    dearer = upsert.on_conflict_do_update(
        index_elements=["rung"],
        set_={"charged": upsert.excluded.charged, "at": upsert.excluded.at},
        where=closed_rungs.c.charged < upsert.excluded.charged,
    )
    tx.run(dearer, {"rung": one.rung, "charged": charge.amount.credits, "at": tx.now})
