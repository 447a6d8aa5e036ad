"""Keys to providers that came with a job, sealed; gone when the job is archived."""

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy import delete, insert, select

from gossamer.store.access_tables import job_keys
from gossamer.store.tables import jobs
from gossamer.store.tx import Tx


def keep(tx: Tx, job_id: UUID, sealed: Mapping[str, bytes]) -> None:
    for provider, key in sealed.items():
        tx.run(insert(job_keys).values(job_id=job_id, provider=provider, sealed=key))


def of_job(tx: Tx, job_id: UUID) -> tuple[str, dict[str, bytes]]:
    """Whose job it is, and its sealed keys by provider."""
    query = (
        select(jobs.c.account_id, job_keys.c.provider, job_keys.c.sealed)
        .join(job_keys, job_keys.c.job_id == jobs.c.id)
        .where(jobs.c.id == job_id)
    )
    rows = tx.run(query).all()
    return (rows[0].account_id if rows else ""), {row.provider: row.sealed for row in rows}


def is_paid_by(tx: Tx, job_id: UUID, provider: str) -> bool:
    """Whether a job's requests to a provider are paid with a key of its own."""
    theirs = (job_keys.c.job_id == job_id) & (job_keys.c.provider == provider)
    return tx.run(select(job_keys.c.job_id).where(theirs)).first() is not None


def drop(tx: Tx, job_id: UUID) -> None:
    tx.run(delete(job_keys).where(job_keys.c.job_id == job_id))
