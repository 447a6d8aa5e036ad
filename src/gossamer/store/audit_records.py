"""What the audit asks of records: that each has its page, and that none is there twice."""

from collections.abc import Mapping, Sequence
from functools import cache, reduce
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, case, exists, func, literal_column, select

from gossamer.model.record import RecordKind
from gossamer.model.states import PageState
from gossamer.store.audit import JOB, Offenders, few, named, offenders_of, take_room
from gossamer.store.tables import jobs, pages, records
from gossamer.store.tx import Tx

LOOSE = "loose records"

_SOURCE = records.outerjoin(pages, (pages.c.job_id == JOB) & (pages.c.key == records.c.page_key))


def _site_part(key: ColumnElement[bytes]) -> ColumnElement[bytes]:
    return func.substr(key, 1, 4)


_ELSEWHERE = (pages.c.site_id != records.c.site_id) | (_site_part(records.c.key) != _site_part(pages.c.key))
_NOWHERE = pages.c.state.is_(None) | (pages.c.state != PageState.DONE) | _ELSEWHERE
# Both numbers by one look at each record and its page.
_COUNTED = (
    select(func.count().label("records"), func.coalesce(func.sum(case((_NOWHERE, 1), else_=0)), 0).label("loose"))
    .select_from(_SOURCE)
    .where(records.c.job_id == JOB)
)
_RECIPE = select(jobs.c.recipe).where(jobs.c.id == JOB)
_LOOSE = (
    named(func.coalesce(pages.c.url, "no page of this job"))
    .select_from(_SOURCE)
    .where(records.c.job_id == JOB, _NOWHERE)
)


def count(tx: Tx, job_id: UUID) -> tuple[int, Offenders]:
    """How many records there are, and those whose page is not there, not done, or of another domain."""
    take_room(tx)
    (found,) = tx.rows(_COUNTED, {"job": job_id})
    some = tx.rows(few(LOOSE, _LOOSE), {"job": job_id}) if found.loose else ()
    return int(found.records), offenders_of(some)


def doubles(tx: Tx, job_id: UUID, kinds: Mapping[str, Sequence[RecordKind]]) -> dict[str, Offenders]:
    """Records that say of themselves to be the same, whatever their key is. `kinds`: those of the recipes at hand."""
    take_room(tx)
    recipe = next((row.recipe for row in tx.rows(_RECIPE, {"job": job_id})), None)
    return {f"double {kind.name}": _doubles_of(tx, job_id, kind) for kind in kinds.get(recipe or "", ())}


def _doubles_of(tx: Tx, job_id: UUID, kind: RecordKind) -> Offenders:
    if tx.dialect.row_locks and not tx.run(_any_alike(kind), {"job": job_id}).scalar():
        return Offenders()
    return offenders_of(tx.rows(_doubles(kind), {"job": job_id}))


def _said(kind: RecordKind) -> Select[Any]:
    """The site of each record, which the first bytes of its key stand for, and what makes it this record.

    OFFSET 0 keeps both databases from taking this apart: what they sort then is this, and not the whole record.
    """
    identity = (records.c.data[name].as_string().label(f"said_{place}") for place, name in enumerate(kind.key))
    mine = (records.c.job_id == JOB) & (records.c.kind == kind.name)
    return select(_site_part(records.c.key).label("site"), *identity).where(mine).offset(literal_column("0"))


@cache
def _doubles(kind: RecordKind) -> Select[Any]:
    """Looked for site by site: so the rows come nearly in the order wanted."""
    said = _said(kind).subquery()
    identity = [said.c[f"said_{place}"] for place in range(len(kind.key))]
    name: ColumnElement[str] = reduce(lambda left, right: left + ", " + right, identity)
    found = named(name, func.count() - 1).group_by(said.c.site, *identity).having(func.count() > 1)
    return few(f"double {kind.name}", found)


def _any_alike(kind: RecordKind) -> Select[Any]:
    """Whether any two have the same hash: a server has one, and compares numbers much faster than addresses.

    Where none have, none are the same; where some have, they are looked at in full.
    """
    texts = [func.coalesce(records.c.data[name].as_string(), "") for name in kind.key]
    whole: ColumnElement[str] = reduce(lambda left, right: left + "\x1f" + right, texts)
    mine = (records.c.job_id == JOB) & (records.c.kind == kind.name)
    alike: Select[Any] = (
        select(literal_column("1")).where(mine).group_by(func.hashtextextended(whole, literal_column("0")))
    )
    return select(exists(alike.having(func.count() > 1)))
