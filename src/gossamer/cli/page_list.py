"""`gossamer job pages`: which pages a job has, and what became of each."""

from typing import Any

from gossamer.cli import tables, words
from gossamer.cli.home import Home
from gossamer.cli.session import say, say_json
from gossamer.errors import UserError
from gossamer.model.ids import short
from gossamer.model.states import PageState
from gossamer.questions.history import pages
from gossamer.store.history import PageHistory

_AT_A_TIME = 1_000


async def show_pages(home: Home, text: str, state: str, site: str, limit: int, *, as_json: bool) -> int:
    wanted = _page_state(state) if state else None
    found: list[PageHistory] = []
    while True:
        # A step at a time: there may be a million.
        step, after = min(limit - len(found), _AT_A_TIME), found[-1].key.hex() if found else ""
        some = await home.ask(pages, text, wanted, site, after, step)
        found += some.pages
        if len(some.pages) < step or len(found) >= limit:
            break
    if as_json:
        say_json([_as_json(page) for page in found])
        return 0
    if not found:
        say(f"No page{f' of {some.host}' if some.host else ''} is {state}." if state else "No pages yet.")
        return 0
    tables.show(tables.pages(found, tables.width()))
    more = " There may be more: --limit." if len(found) == limit else ""
    say(f"{words.several(len(found), f'{state} page' if state else 'page')}.{more}")
    if any(page.state is PageState.FAILED for page in found):
        say(f"One of them in detail: 'gossamer explain URL --job {short(some.job.id)}'.")
    return 0


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
