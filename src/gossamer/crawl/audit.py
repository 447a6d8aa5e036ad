"""Audit of a job: its rows must agree with each other, with its counters and with its last checkpoint."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from uuid import UUID

from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.model.ids import short
from gossamer.model.record import RecordKind
from gossamer.model.states import JobState, PageState, SiteState, VisitState
from gossamer.recipes.base import Recipe
from gossamer.store import audit as totals
from gossamer.store.audit import FEW, Offenders, Tally, tally

_ENDED = (SiteState.DONE, SiteState.PARTIAL, SiteState.FAILED)
_SETTLED = (PageState.DONE, PageState.FAILED, PageState.SKIPPED)
_IN_HAND = (VisitState.ISSUED, VisitState.RUNNING)
_TO_WALK = (VisitState.READY, *_IN_HAND)
_AT_WORK = (JobState.PENDING, JobState.RUNNING, JobState.PAUSING)


@dataclass(frozen=True, slots=True)
class Check:
    """One check: the figures it counted, and a sentence for each fault."""

    name: str
    figures: Mapping[str, int]
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AuditReport:
    """All checks of a job."""

    job_id: UUID
    state: JobState
    checks: tuple[Check, ...]

    @property
    def clean(self) -> bool:
        return not any(check.faults for check in self.checks)

    @property
    def sentence(self) -> str:
        """Describe the first few faults in a line; "" if there are none."""
        faults = [fault for check in self.checks for fault in check.faults]
        more = f"; {len(faults) - FEW} more" if len(faults) > FEW else ""
        return "; ".join(faults[:FEW]) + more


async def audit(database: Database, job_id: UUID, recipes: Mapping[str, Recipe] = MappingProxyType({})) -> AuditReport:
    """Audit a job from a single snapshot of its rows, even while it is running.

    Only a job's recipe defines which of its records are duplicates; without the recipe that check is skipped.
    """
    return _report(job_id, await read_tally(database, job_id, _kinds(recipes)))


def audit_now(tx: Tx, job_id: UUID, recipes: Mapping[str, Recipe]) -> AuditReport:
    """Audit within a transaction, for a job of a few rows."""
    return _report(job_id, tally_now(tx, job_id, _kinds(recipes)))


def _kinds(recipes: Mapping[str, Recipe]) -> dict[str, Sequence[RecordKind]]:
    return {name: recipe.kinds for name, recipe in recipes.items()}


def _report(job_id: UUID, found: Tally | None) -> AuditReport:
    if found is None:
        raise UserError("job.not_found", f"Job {short(job_id)} was deleted just now.", hint="See 'gossamer job list'.")
    wanted = _OF_ARCHIVED if found.state is JobState.ARCHIVED else _CHECKS
    checks = tuple(check(found) for check in wanted)
    if found.lines_skipped:
        # Not a fault, since a person asked for it, but part of the count of inputs.
        checks = (*checks, Check("lists", {"lines_skipped_as_invalid": found.lines_skipped}))
    return AuditReport(job_id, found.state, checks)


def _pages(rows: Tally) -> Check:
    states = (*_SETTLED, PageState.CLIMBING, PageState.PENDING)
    known = {str(state): rows.pages.get(state, 0) for state in states}
    return Check("pages", {"pages": sum(rows.pages.values()), **known}, _unknown("pages", rows.pages, known))


def _sites(rows: Tally) -> Check:
    known = {str(state): rows.sites.get(state, 0) for state in (*_ENDED, SiteState.OPEN)}
    total = sum(rows.sites.values())
    faults = _unknown("domains", rows.sites, known)
    if total != rows.counted.sites_total:
        faults += (f"domains asked for: {rows.counted.sites_total:,}, domains there: {total:,}",)
    return Check("domains", {"domains": total, **known}, faults)


def _unknown(what: str, found: Mapping[str, int], known: Mapping[str, int]) -> tuple[str, ...]:
    odd = {state: count for state, count in found.items() if state not in known}
    return tuple(f"{what} in a state that does not exist: {count:,} ({state})" for state, count in odd.items())


def _counters(rows: Tally) -> Check:
    counted = _sums(rows)
    faults = tuple(
        f"{name}: the counter says {kept:,}, the rows say {count:,}"
        for name, count in counted.items()
        if (kept := getattr(rows.counted, name)) != count
    )
    return Check("counters", counted, faults)


def _sums(rows: Tally) -> dict[str, int]:
    """Return the expected value of each counter, by its name."""
    return {
        **{f"sites_{state}": rows.sites.get(state, 0) for state in _ENDED},
        **{f"pages_{state}": rows.pages.get(state, 0) for state in _SETTLED},
        "pages_open": rows.pages.get(PageState.PENDING, 0) + rows.pages.get(PageState.CLIMBING, 0),
        "records": rows.records,
        "bytes_in": rows.bytes_in,
    }


def _belonging(rows: Tally) -> Check:
    figures = {"pages": sum(rows.pages.values()), "visits": sum(rows.visits.values())}
    return _check(
        rows,
        "belonging",
        figures,
        {
            "stray pages": "pages without a visit to their domain",
            "stray visits": "visits without a domain of this job",
        },
    )


def _read(rows: Tally) -> Check:
    told = {
        "pages read of sites": "domains whose number of pages read is not that of their done pages",
        "pages without identity": "pages read of which it is not known which page they are",
    }
    return _check(rows, "read", {"done": rows.pages.get(PageState.DONE, 0)}, told)


def _open_pages(rows: Tally) -> Check:
    wrong = "whose number of open pages is not that of their pending pages"
    told = {"open pages of sites": f"domains {wrong}", "open pages of visits": f"visits {wrong}"}
    return _check(rows, "open pages", {"pending": rows.pages.get(PageState.PENDING, 0)}, told)


def _endings(rows: Tally) -> Check:
    figures = {
        "domains ended": sum(rows.sites.get(state, 0) for state in _ENDED),
        "visits ended": sum(count for state, count in rows.visits.items() if state not in _TO_WALK),
    }
    told = {
        "pages of ended sites": "pages that wait although their domain has ended",
        "pages of ended visits": "pages that wait although their visit has ended",
        "unfit visits": "visits that ended in another way than their domain",
    }
    return _check(rows, "endings", figures, told)


def _to_come(rows: Tally) -> Check:
    figures = {
        "domains open": rows.sites.get(SiteState.OPEN, 0),
        "visits to come": sum(rows.visits.get(state, 0) for state in _TO_WALK),
    }
    told = {
        "stuck sites": "open domains that no visit will walk",
        "visits to ended sites": "visits to come although their domain has ended",
    }
    if rows.state is JobState.COMPLETED:
        told = {
            "open sites": "domains open although the job is completed",
            "visits to walk": "visits to come although the job is completed",
        }
    return _check(rows, "to come", figures, told)


def _in_hand(rows: Tally) -> Check:
    figures = {"visits in hand": sum(rows.visits.get(state, 0) for state in _IN_HAND)}
    told = {"visits in hand": f"visits held by a worker although the job is {rows.state}"}
    return _check(rows, "leases", figures, {} if rows.state in _AT_WORK else told)


def _doubles(rows: Tally) -> Check:
    kinds = [what for what in rows.offenders if what.startswith("double ") and what != "double pages"]
    told = {what: f"records of kind {what.removeprefix('double ')} that are there already" for what in kinds}
    figures = {"pages": sum(rows.pages.values()), **({"records": rows.records} if kinds else {})}
    return _check(rows, "doubles", figures, {"double pages": "pages whose address is there already", **told})


def _sources(rows: Tally) -> Check:
    told = {"loose records": "records whose page is not there, not done, or of another domain"}
    return _check(rows, "sources", {"records": rows.records}, told)


def _money(rows: Tally) -> Check:
    return Check("money", rows.money.figures, rows.money.faults)


def _checkpoint(rows: Tally) -> Check:
    """Compare with the checkpoint: equal if the job has been at rest since, otherwise not less.

    Intended reductions write a new checkpoint.
    """
    then = rows.checkpoint
    if then is None:
        return Check("checkpoint", {})
    now = _sums(rows)
    names: tuple[str, ...] = ("pages_done", "pages_failed", "pages_skipped", "records")
    at_rest = rows.state in (JobState.PAUSED, JobState.COMPLETED) and then.state is rows.state
    if at_rest and then.last_at == rows.counted.last_activity:
        names = tuple(name for name in now if hasattr(then, name))
        wrong = [name for name in names if now[name] != getattr(then, name)]
    else:
        wrong = [name for name in names if now[name] < getattr(then, name)]
    faults = tuple(
        f"{name}: {getattr(then, name):,} at the last checkpoint ({then.cause}), {now[name]:,} in the rows"
        for name in wrong
    )
    return Check("checkpoint", {name: getattr(then, name) for name in names}, faults)


def _deleted(rows: Tally) -> Check:
    left = {"pages": sum(rows.pages.values()), "records": rows.records}
    faults = (f"{what} that should be deleted: {count:,}" for what, count in left.items() if count)
    return Check("deleted", left, () if rows.is_hidden else tuple(faults))


_CHECKS: tuple[Callable[[Tally], Check], ...] = (
    _pages,
    _sites,
    _counters,
    _belonging,
    _read,
    _open_pages,
    _endings,
    _to_come,
    _in_hand,
    _doubles,
    _sources,
    _money,
    _checkpoint,
)
_OF_ARCHIVED: tuple[Callable[[Tally], Check], ...] = (_sites, _deleted, _in_hand)


def _check(rows: Tally, name: str, figures: Mapping[str, int], told: Mapping[str, str]) -> Check:
    """Return a check that fails if any rows violate it; `told` maps each kind of violation to its sentence."""
    return Check(
        name,
        figures,
        tuple(_fault(rows.offenders[what], said) for what, said in told.items() if rows.offenders[what].total),
    )


def _fault(wrong: Offenders, said: str) -> str:
    more = ", ..." if wrong.total > len(wrong.some) else ""
    return f"{said}: {wrong.total:,} ({', '.join(wrong.some)}{more})"


@dataclass(frozen=True, slots=True)
class _Part:
    """Result of one of the three readers."""

    rows: Tally | None = None
    records: int = 0
    offenders: Mapping[str, Offenders] = field(default_factory=dict)


async def read_tally(database: Database, job_id: UUID, kinds: Mapping[str, Sequence[RecordKind]]) -> Tally | None:
    """Read the three parts that take long at a million rows, concurrently; None if there is no such job."""
    return _whole(await database.read_together(*_readers(job_id, kinds)))


def tally_now(tx: Tx, job_id: UUID, kinds: Mapping[str, Sequence[RecordKind]]) -> Tally | None:
    """Read a small job within a transaction."""
    return _whole([read(tx) for read in _readers(job_id, kinds)])


def _readers(job_id: UUID, kinds: Mapping[str, Sequence[RecordKind]]) -> tuple[Callable[[Tx], _Part], ...]:
    def rows(tx: Tx) -> _Part:
        return _Part(tally(tx, job_id))

    def sources(tx: Tx) -> _Part:
        number, loose = totals.count(tx, job_id)
        return _Part(records=number, offenders={totals.LOOSE: loose})

    def doubles(tx: Tx) -> _Part:
        return _Part(offenders=totals.doubles(tx, job_id, kinds))

    return rows, sources, doubles


def _whole(parts: Sequence[_Part]) -> Tally | None:
    whole = parts[0].rows
    if whole is None:
        return None
    offenders = {what: wrong for part in parts for what, wrong in part.offenders.items()}
    return replace(whole, records=parts[1].records, offenders={**whole.offenders, **offenders})
