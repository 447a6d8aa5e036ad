"""From a refused reservation to what is said about it, and whether the job pauses for it."""

from uuid import UUID

from gossamer.model.alert import AlertKind
from gossamer.model.ids import short
from gossamer.model.money import Price, Refusal, Scope, Why, shown
from gossamer.model.sentences import PAUSES

_KINDS = {
    Scope.SYSTEM: AlertKind.DAILY_BUDGET,
    Scope.ACCOUNT: AlertKind.ACCOUNT_BUDGET,
    Scope.JOB: AlertKind.BUDGET,
}


def pause_of(refusal: Refusal, price: Price, job_id: UUID) -> tuple[AlertKind, str] | None:
    """Why the job pauses; None if it goes on: a lease was lost, or a budget is only crowded."""
    if refusal.why is Why.CLOSED:
        figures = {"rung": price.rung, "charged": refusal.used, "worst": price.worst}
        return AlertKind.OVERCHARGE, PAUSES[AlertKind.OVERCHARGE].format(**figures)
    if refusal.why is not Why.CAP or refusal.budget is None:
        return None
    period, used = refusal.budget.period, shown(refusal.part, refusal.used)
    kind = _KINDS[refusal.budget.scope]
    return kind, PAUSES[kind].format(used=used, day=period, month=period, job=short(job_id))
