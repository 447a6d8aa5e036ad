"""Every question there is, by its name."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from gossamer.questions import files, found, history, jobs, keys, pages, proofs, spending, status, submitting, system

Question = Callable[..., Awaitable[Any]]

_ALL: tuple[Question, ...] = (
    jobs.find,
    jobs.standing,
    status.ended,
    status.status,
    jobs.listing,
    jobs.running,
    jobs.domains,
    jobs.deleted_at,
    found.results,
    found.failures,
    found.spent,
    history.pages,
    history.history,
    history.explained,
    proofs.audited,
    proofs.politeness,
    proofs.summary,
    files.files,
    files.exportable,
    pages.scraped,
    submitting.house_rules,
    submitting.foreseen,
    system.workers,
    system.waiting,
    system.backlog,
    system.figures,
    system.alerts,
    system.letters,
    system.letter,
    system.ahead,
    system.revive,
    system.drop,
    system.tidy,
    spending.spending,
    keys.keys,
    keys.make_key,
    keys.revoke_key,
)

QUESTIONS: Mapping[str, Question] = {question.__name__: question for question in _ALL}
