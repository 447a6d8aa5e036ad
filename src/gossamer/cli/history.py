"""`gossamer job history` and `gossamer explain`: the events of a job, and what it did about one address."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from textwrap import wrap
from typing import Any

from gossamer.cli import explain_text, formatting
from gossamer.cli.home import Home
from gossamer.cli.runtime import say, say_json
from gossamer.cli.tables import width
from gossamer.history.explain import FORGOTTEN, Explanation
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.page import ASKED_AGAIN, Attempt
from gossamer.model.states import PageState
from gossamer.questions.history import explained, history
from gossamer.store.events import Line
from gossamer.store.history import PageHistory

_WIDEST_HOST = 40  # columns; longer names make longer lines


async def show_history(home: Home, text: str, host: str, limit: int, *, as_json: bool) -> None:
    events = await home.ask(history, text, host, limit)
    found = events.lines
    if as_json:
        say_json([_event_json(line) for line in found])
        return
    for said in history_lines(found):
        say(said)
    if events.cut:
        more = "--limit" if host else "--limit, or --site HOST for one domain"
        say(f"Of domains and visits, only the last {limit:,} events are shown. More of them: {more}.")


def history_lines(found: Sequence[Line]) -> Iterator[str]:
    """One line for each event: time, kind, domain, reason and origin, in columns."""
    kinds = max((len(line.event.kind) for line in found), default=0)
    hosts = min(_WIDEST_HOST, max((len(line.host) for line in found), default=0))
    for line in found:
        event = line.event
        who = f"({event.who})" if event.who else ""
        where = f"{line.host:<{hosts}}  " if hosts else ""
        yield f"{formatting.local_time(event.at)}  {event.kind:<{kinds}}  {where}{event.why} {who}".rstrip()


def _event_json(line: Line) -> dict[str, Any]:
    event = line.event
    return {
        "at": event.at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "kind": event.kind,
        "domain": line.host or None,
        "visit": str(event.visit_id) if event.visit_id else None,
        "who": event.who,
        "why": event.why,
    }


_LABEL = 12  # columns
_WIDEST = 110  # columns; longer lines are hard to read

Labelled = tuple[str, str]
"""A label (or nothing) and the text next to it."""


async def show_explanation(home: Home, text: str, job_text: str, *, as_json: bool) -> None:
    answer = await home.ask(explained, text, job_text)
    found, job = answer.explanation, answer.job
    if as_json:
        say_json(explain_text.as_json(found, job))
        return
    if not job_text:
        knows = (
            "the newest that knows the address" if found.page or found.site else "the newest; none knows the address"
        )
        say(f"Job {short(job.id)} is shown, {knows}. --job chooses another.")
    for line in explanation_lines(found, job, min(width(), _WIDEST)):
        say(line)


def explanation_lines(one: Explanation, job: Job, room: int) -> Iterator[str]:
    """All facts in lines of at most `room` columns."""
    yield one.url
    for label, text in _facts(one, job):
        # Addresses are never broken, so that they can be copied.
        parts = wrap(text, max(room - _LABEL, 30), break_long_words=False, break_on_hyphens=False) or [""]
        yield f"{label:<{_LABEL}}{parts[0]}".rstrip()
        yield from (" " * _LABEL + part for part in parts[1:])


def _facts(one: Explanation, job: Job) -> Iterator[Labelled]:
    if one.url not in (one.given, f"{one.given}/"):
        yield "Given", one.given
    yield "Job", f"{job.name} ({short(job.id)}), {job.state}"
    if one.site:
        yield "Site", explain_text.site(one.site)
    if one.page:
        yield from _page(one, one.page, job.recipe)
    else:
        yield from _absence(one, job.recipe)
    said = {one.same_as.url if one.same_as else "", *(twin.url for twin in one.twins)}
    for other in one.spellings:
        if other.url not in said:
            yield "Similar", f"{other.url}: {explain_text.state(other)}"


def _absence(one: Explanation, recipe: str) -> Iterator[Labelled]:
    if one.same_as:
        yield "Page", f"read by way of {one.same_as.url}, which redirects here or names this as its address"
    elif any(absence.name == FORGOTTEN for absence in one.absences):
        yield "Page", "forgotten"
    elif any(absence.name == "errand" for absence in one.absences):
        yield "Page", "none"
    else:
        yield "Page", "none: this address was never asked for"
    for at, absence in enumerate(one.absences):
        yield "" if at else "Why", absence.sentence
    if one.ruling and one.ruling.allowed is not None:
        yield "robots.txt", explain_text.ruling(one.ruling)
    if one.same_as:
        yield from _records(recipe, one.records)


def _page(one: Explanation, page: PageHistory, recipe: str) -> Iterator[Labelled]:
    yield "Found", explain_text.found(one, page)
    if one.ruling:
        yield "robots.txt", explain_text.ruling(one.ruling)
    tries = formatting.tries(page.attempts)
    yield "Tries", f"{tries} {'try' if tries == 1 else 'tries'}" if tries else "none yet"
    for attempt in page.attempts:
        yield "", _attempt(attempt)
    yield "Verdict", explain_text.verdict(page)
    if page.state is PageState.PENDING and page.due_at:
        yield "Due", formatting.local_time(page.due_at)
    if page.settled_at and page.state is not PageState.PENDING:
        yield "Settled", formatting.local_time(page.settled_at)
    if one.same_as:
        yield "Read as", one.same_as.url
    for other in one.handed_on:
        yield "Goes on as", f"{other.url}: {explain_text.state(other)}"
    for at, twin in enumerate(one.twins):
        yield "" if at else "Also at", twin.url
    really = {str(record.get("url")) for record in one.records} - {page.url}
    for url in really:
        yield "Read as", url
    if page.state is PageState.DONE:
        yield from _records(recipe, one.records)


def _attempt(attempt: Attempt) -> str:
    asked = formatting.local_time(datetime.fromtimestamp(attempt.asked_at / 1000, UTC))
    said = "asked for again" if attempt.rung == ASKED_AGAIN else f"{attempt.rung}: {explain_text.attempt(attempt)}"
    return f"{asked}  {said}"


def _records(recipe: str, records: tuple[Mapping[str, Any], ...]) -> Iterator[Labelled]:
    title = formatting.found_title([recipe])
    if not records:
        yield title, "none"
    for at, line in enumerate(explain_text.records(recipe, records)):
        yield "" if at else title, line
