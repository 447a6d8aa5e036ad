"""Requests that came under a key of the submitter's own, and the jobs they led to."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select, text, update

from gossamer.store.tables import jobs
from gossamer.store.tx import Tx


@dataclass(frozen=True, slots=True)
class Earlier:
    """The job a key belongs to, and a digest of what was asked for."""

    job_id: UUID
    digest: bytes


def under(tx: Tx, account: str, key: str) -> Earlier | None:
    """What came under this key before. Until commit nobody else learns that nothing did."""
    if tx.dialect.row_locks:
        # Two who submit at once must see each other, and there is no row yet for them to meet at.
        tx.run(text("SELECT pg_advisory_xact_lock(hashtext(:key))"), {"key": f"submit {account} {key}"})
    mine = (jobs.c.account_id == account) & (jobs.c.submit_key == key)
    row = tx.run(select(jobs.c.id, jobs.c.submit_digest).where(mine)).first()
    return Earlier(row.id, bytes(row.submit_digest)) if row else None


def is_known(tx: Tx, account: str, key: str) -> bool:
    mine = (jobs.c.account_id == account) & (jobs.c.submit_key == key)
    return tx.run(select(jobs.c.id).where(mine)).first() is not None


def name_of(tx: Tx, account: str, key: str) -> str:
    """What the job is called that came under this key; nothing if none did."""
    mine = (jobs.c.account_id == account) & (jobs.c.submit_key == key)
    return str(tx.run(select(jobs.c.name).where(mine)).scalar() or "")


def keep(tx: Tx, job_id: UUID, key: str, digest: bytes) -> None:
    tx.run(update(jobs).where(jobs.c.id == job_id).values(submit_key=key, submit_digest=digest))
