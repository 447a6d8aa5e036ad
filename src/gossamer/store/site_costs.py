"""Which requests the sites of a job have taken, read from the attempts of their pages a bounded number at a time."""

from collections import Counter
from uuid import UUID

from sqlalchemy import bindparam, select

from gossamer.model.page import ASKED_AGAIN, Attempt
from gossamer.store.tables import pages
from gossamer.store.tx import Tx

Requests = Counter[tuple[UUID, str]]
"""How many, by site and rung."""

_ATTEMPTS = (
    select(pages.c.key, pages.c.site_id, pages.c.attempts)
    .where(pages.c.job_id == bindparam("job", type_=pages.c.job_id.type), pages.c.key > bindparam("after"))
    .order_by(pages.c.key)
    .limit(bindparam("most"))
)


def requests(tx: Tx, job_id: UUID, after: bytes, limit: int) -> tuple[Requests, bytes | None]:
    """Of the next pages; and the key to go on after, None after the last one.

    Every request counts that went out, those of redirects too; one that never did, such as to a name that does not
    exist, does not.
    """
    rows = tx.rows(_ATTEMPTS, {"job": job_id, "after": after, "most": limit})
    found: Requests = Counter()
    for row in rows:
        for attempt in (Attempt(*one) for one in row.attempts):
            if attempt.rung != ASKED_AGAIN:
                found[row.site_id, attempt.rung] += len(attempt.sent)
    return found, bytes(rows[-1].key) if len(rows) == limit else None
