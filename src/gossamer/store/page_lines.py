"""Pages for files: only what stands in their lines, a step at a time."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import bindparam, select

from gossamer.store.tables import pages
from gossamer.store.tx import Tx

_STEP = (
    select(
        pages.c.key,
        pages.c.url,
        pages.c.state,
        pages.c.reason,
        pages.c.detail,
        pages.c.http_status,
        pages.c.attempts,
        pages.c.depth,
        pages.c.found_on,
        pages.c.bytes_in,
        pages.c.settled_at,
    )
    .where(pages.c.job_id == bindparam("job"), pages.c.key > bindparam("after"))
    .order_by(pages.c.key)
    .limit(bindparam("most"))
)


def pages_after(tx: Tx, job_id: UUID, after: bytes, limit: int) -> Sequence[Any]:
    """The next pages of a job by their keys, which the pages of a site begin alike: so they lie together.

    Key, address, state, name of the reason, detail, status, attempts as they are kept, depth, where it was found,
    bytes, and when it was settled.
    """
    return tx.rows(_STEP, {"job": job_id, "after": after, "most": limit})
