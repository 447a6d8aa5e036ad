"""`gossamer job pages`: which pages a job has, and what became of each."""

from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import UUID

from gossamer.assembly import App
from gossamer.cli import kept, tables, words
from gossamer.cli.session import say, say_json
from gossamer.errors import UserError
from gossamer.intake.control import find_job
from gossamer.intake.domain import Refusal, clean, read_domain
from gossamer.model.ids import short
from gossamer.model.states import PageState
from gossamer.model.url import site_of
from gossamer.store import history
from gossamer.store.history import PageHistory, SiteHistory

_AT_A_TIME = 1_000


async def show_pages(app: App, text: str, state: str, site: str, limit: int, *, as_json: bool) -> int:
    job = await find_job(app.database, text)
    await kept.refuse_gone(app, job)
    wanted = _page_state(state) if state else None
    known = await _site(app, job.id, site) if site else None
    found = [page async for some in _pages(app, job.id, limit, wanted, known) for page in some]
    if as_json:
        say_json([_as_json(page) for page in found])
        return 0
    if not found:
        say(f"No page{f' of {known.host}' if known else ''} is {state}." if state else "No pages yet.")
        return 0
    tables.show(tables.pages(found, tables.width()))
    more = " There may be more: --limit." if len(found) == limit else ""
    say(f"{words.several(len(found), f'{state} page' if state else 'page')}.{more}")
    if any(page.state is PageState.FAILED for page in found):
        say(f"One of them in detail: 'gossamer explain URL --job {short(job.id)}'.")
    return 0


async def _pages(
    app: App, job_id: UUID, limit: int, state: PageState | None, site: SiteHistory | None
) -> AsyncIterator[Sequence[PageHistory]]:
    """Up to so many, each step a short read of its own."""
    after = b""
    while limit > 0:
        step = min(limit, _AT_A_TIME)
        some = await app.database.read(history.pages_by_key, job_id, after, step, state=state, site=site)
        yield some
        if len(some) < step:
            return
        after, limit = some[-1].key, limit - step


async def _site(app: App, job_id: UUID, text: str) -> SiteHistory:
    domain = read_domain(clean(text))
    host = text if isinstance(domain, Refusal) else site_of(domain.host)
    known = await app.database.read(history.site, job_id, host)
    if known is None:
        raise UserError(
            "pages.site",
            f"{text!r} is no domain of this job.",
            hint=f"See 'gossamer job sites {short(job_id)}' for the ones it has.",
        )
    return known


def _page_state(text: str) -> PageState:
    known = [str(state) for state in PageState if state is not PageState.CLIMBING]
    if text not in known:
        raise UserError("pages.state", f"{text!r} is no state of a page.", hint=f"Use one of {', '.join(known)}.")
    return PageState(text)


def _as_json(page: PageHistory) -> dict[str, Any]:
    return {
        "url": page.url,
        "state": str(page.state),
        "reason": page.trouble.sentence if page.trouble else "",
        "reason_name": page.trouble.reason.name if page.trouble else None,
        "http_status": page.http_status,
        "tries": words.tries(page.attempts),
        "depth": page.depth,
        "found_on": page.found_on or None,
        "due_at": words.stamp(page.due_at),
        "settled_at": words.stamp(page.settled_at),
    }
