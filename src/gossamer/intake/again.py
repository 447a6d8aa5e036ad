"""The request a job was made by, to be made once more: its sites or pages, its parameters and its limits.

What the job learned is not taken over, nor are keys of its own to providers, which are only kept for it.
"""

import re
from collections.abc import Sequence

from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.intake.submit import LONGEST_NAME, check_name
from gossamer.model.ids import short
from gossamer.model.job import Job, JobRequest, Target
from gossamer.store import budgets, jobs, sites
from gossamer.store.sites import Given

_NUMBERED = re.compile(r" \((\d{1,6})\)$")


def request_again(tx: Tx, job: Job, name: str = "", account: str | None = None) -> JobRequest:
    """A request like that of `job`, under another name, or its own with the next number."""
    given = sites.given(tx, job.id)
    pages = sites.given_pages(tx, job.id) if job.extent.names_pages else {}
    if not given or (job.extent.names_pages and not pages):
        raise UserError(
            "job.no_list",
            f"The list of job {short(job.id)} is gone: it was deleted with its results.",
            hint="Start a new job with the list.",
        )
    targets = tuple(_target(one, pages.get(one.id, ())) for one in given)
    return JobRequest(
        check_name(name) if name else next_name(job.name, jobs.names_like(tx, _plain(job.name), account)),
        job.recipe,
        job.params,
        targets,
        priority=job.priority,
        cap=budgets.of_job(tx, job.id).cap,
        at_once=job.at_once,
    )


def _target(one: Given, pages: Sequence[str]) -> Target:
    # Other spellings of a page that were tried are none of the list.
    return Target(one.host, one.entries, one.given, tuple(url for url in pages if url not in one.entries[1:]))


def next_name(name: str, taken: Sequence[str]) -> str:
    """`Acme Q1` after itself is `Acme Q1 (2)`, and then `Acme Q1 (3)`."""
    plain = _plain(name)
    numbers = [int(found[1]) if (found := _NUMBERED.search(one)) else 1 for one in taken if _plain(one) == plain]
    ending = f" ({max(numbers, default=1) + 1})"
    return plain[: LONGEST_NAME - len(ending)] + ending


def _plain(name: str) -> str:
    return _NUMBERED.sub("", name)
