"""Input of an audit: all totals of a job's rows, as of one moment."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from gossamer.db.database import Database
from gossamer.db.transactions import Tx
from gossamer.model.record import RecordKind
from gossamer.store import audit
from gossamer.store.audit import Offenders, Tally, tally


@dataclass(frozen=True, slots=True)
class _Part:
    """Results of one of the readers."""

    rows: Tally | None = None
    records: int = 0
    offenders: Mapping[str, Offenders] = field(default_factory=dict)


async def read_tally(database: Database, job_id: UUID, kinds: Mapping[str, Sequence[RecordKind]]) -> Tally | None:
    """Read the three parts that take long at a million rows, concurrently; None if there is no such job."""
    return _whole(await database.read_together(*_readers(job_id, kinds)))


def tally_now(tx: Tx, job_id: UUID, kinds: Mapping[str, Sequence[RecordKind]]) -> Tally | None:
    """The same inside a transaction, for a job that is small."""
    return _whole([read(tx) for read in _readers(job_id, kinds)])


def _readers(job_id: UUID, kinds: Mapping[str, Sequence[RecordKind]]) -> tuple[Callable[[Tx], _Part], ...]:
    def rows(tx: Tx) -> _Part:
        return _Part(tally(tx, job_id))

    def sources(tx: Tx) -> _Part:
        number, loose = audit.count(tx, job_id)
        return _Part(records=number, offenders={audit.LOOSE: loose})

    def doubles(tx: Tx) -> _Part:
        return _Part(offenders=audit.doubles(tx, job_id, kinds))

    return rows, sources, doubles


def _whole(parts: Sequence[_Part]) -> Tally | None:
    whole = parts[0].rows
    if whole is None:
        return None
    offenders = {what: wrong for part in parts for what, wrong in part.offenders.items()}
    return replace(whole, records=parts[1].records, offenders={**whole.offenders, **offenders})
