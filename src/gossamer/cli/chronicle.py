"""The history of a job as people read it: one line an event, oldest first."""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from gossamer.assembly import App
from gossamer.cli import words
from gossamer.cli.session import say, say_json
from gossamer.errors import UserError
from gossamer.intake.control import find_job
from gossamer.intake.domain import Refusal, clean, read_domain
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.url import site_of
from gossamer.store import events, sites
from gossamer.store.database import Database
from gossamer.store.events import Line

_WIDEST_HOST = 40  # columns; of a longer one the lines are longer


async def show_history(app: App, text: str, host: str, limit: int, *, as_json: bool) -> int:
    job = await find_job(app.database, text)
    if host:
        found = await _back(app.database, job.id, await _site(app.database, job, host), limit)
        hidden = len(found) == limit
    else:
        others = await app.database.read(events.latest, job.id, limit)
        hidden = len(others) == limit
        found = sorted([*others, *await _back(app.database, job.id, None)], key=lambda line: line.id, reverse=True)
    found.reverse()
    if as_json:
        say_json([_json(line) for line in found])
        return 0
    for said in lines(found):
        say(said)
    if hidden:
        more = "--limit" if host else "--limit, or --site HOST for one domain"
        say(f"Of domains and visits, only the last {limit:,} events are shown. More of them: {more}.")
    return 0


def lines(found: Sequence[Line]) -> Iterator[str]:
    """When, what, where, why and who; columns stand below each other."""
    kinds = max((len(line.event.kind) for line in found), default=0)
    hosts = min(_WIDEST_HOST, max((len(line.host) for line in found), default=0))
    for line in found:
        event = line.event
        who = f"({event.who})" if event.who else ""
        where = f"{line.host:<{hosts}}  " if hosts else ""
        yield f"{words.moment(event.at)}  {event.kind:<{kinds}}  {where}{event.why} {who}".rstrip()


async def _back(database: Database, job_id: UUID, site_id: UUID | None, limit: int | None = None) -> list[Line]:
    """Newest first, a range of keys at a time: a job may have hundreds of thousands of events."""
    found: list[Line] = []
    before: UUID | None = None
    while True:
        some, before = await database.read(events.step_back, job_id, site_id, before)
        found += some
        if before is None or (limit and len(found) >= limit):
            return found[:limit]


async def _site(database: Database, job: Job, text: str) -> UUID:
    host = read_domain(clean(text))
    known = {} if isinstance(host, Refusal) else await database.read(sites.by_host, job.id, [site_of(host.host)])
    for site_id in known.values():
        return site_id
    raise UserError(
        "history.site",
        f"{text!r} is no domain of job {short(job.id)}.",
        hint=f"See 'gossamer job sites {short(job.id)}' for the ones there are.",
    )


def _json(line: Line) -> dict[str, Any]:
    event = line.event
    return {
        "at": event.at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "kind": event.kind,
        "domain": line.host or None,
        "visit": str(event.visit_id) if event.visit_id else None,
        "who": event.who,
        "why": event.why,
    }
