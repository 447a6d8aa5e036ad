"""An explanation as people read it: a few labelled facts, every try in its order, and what came of it."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from textwrap import wrap
from typing import Any

from gossamer.cli import told, words
from gossamer.cli.home import Home
from gossamer.cli.session import say, say_json
from gossamer.cli.tables import width
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.page import ASKED_AGAIN, Attempt
from gossamer.model.states import PageState
from gossamer.questions.history import explained
from gossamer.store.history import PageHistory
from gossamer.work.explain import FORGOTTEN, Explanation

_LABEL = 12  # columns
_WIDEST = 110  # columns; longer lines are hard to read

Line = tuple[str, str]
"""A label, or nothing, and what it says."""


async def show_explanation(home: Home, text: str, job_text: str, *, as_json: bool) -> int:
    answer = await home.ask(explained, text, job_text)
    found, job = answer.explanation, answer.job
    if as_json:
        say_json(told.as_json(found, job))
        return 0
    if not job_text:
        knows = (
            "the newest that knows the address" if found.page or found.site else "the newest; none knows the address"
        )
        say(f"Job {short(job.id)} is shown, {knows}. --job chooses another.")
    for line in lines(found, job, min(width(), _WIDEST)):
        say(line)
    return 0


def lines(one: Explanation, job: Job, room: int) -> Iterator[str]:
    """Every fact in lines that fit."""
    yield one.url
    for label, text in _facts(one, job):
        # An address is never broken: it must be possible to copy it.
        parts = wrap(text, max(room - _LABEL, 30), break_long_words=False, break_on_hyphens=False) or [""]
        yield f"{label:<{_LABEL}}{parts[0]}".rstrip()
        yield from (" " * _LABEL + part for part in parts[1:])


def _facts(one: Explanation, job: Job) -> Iterator[Line]:
    if one.url not in (one.given, f"{one.given}/"):
        yield "Given", one.given
    yield "Job", f"{job.name} ({short(job.id)}), {job.state}"
    if one.site:
        yield "Site", told.site(one.site)
    if one.page:
        yield from _page(one, one.page)
    else:
        yield from _absence(one)
    said = {one.same_as.url if one.same_as else "", *(twin.url for twin in one.twins)}
    for other in one.spellings:
        if other.url not in said:
            yield "Nearly", f"{other.url}: {told.state(other)}"


def _absence(one: Explanation) -> Iterator[Line]:
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
        yield "robots.txt", told.ruling(one.ruling)
    if one.same_as:
        yield from _records(one.records)


def _page(one: Explanation, page: PageHistory) -> Iterator[Line]:
    yield "Found", told.found(one, page)
    if one.ruling:
        yield "robots.txt", told.ruling(one.ruling)
    tries = words.tries(page.attempts)
    yield "Tries", f"{tries} {'try' if tries == 1 else 'tries'}" if tries else "none yet"
    for attempt in page.attempts:
        yield "", _attempt(attempt)
    yield "Verdict", told.verdict(page)
    if page.state is PageState.PENDING and page.due_at:
        yield "Due", words.moment(page.due_at)
    if page.settled_at and page.state is not PageState.PENDING:
        yield "Settled", words.moment(page.settled_at)
    if one.same_as:
        yield "Read as", one.same_as.url
    for other in one.handed_on:
        yield "Goes on as", f"{other.url}: {told.state(other)}"
    for at, twin in enumerate(one.twins):
        yield "" if at else "Also at", twin.url
    really = {str(record.get("url")) for record in one.records} - {page.url}
    for url in really:
        yield "Read as", url
    if page.state is PageState.DONE:
        yield from _records(one.records)


def _attempt(attempt: Attempt) -> str:
    asked = words.moment(datetime.fromtimestamp(attempt.asked_at / 1000, UTC))
    said = "asked for again" if attempt.rung == ASKED_AGAIN else f"{attempt.rung}: {told.attempt(attempt)}"
    return f"{asked}  {said}"


def _records(records: tuple[Mapping[str, Any], ...]) -> Iterator[Line]:
    if not records:
        yield "Matches", "none"
    matches = [record for record in records if record.get("keyword") is not None]
    for at, record in enumerate(sorted(matches, key=lambda record: str(record.get("keyword")))):
        yield "" if at else "Matches", told.record(record)
