"""The history of a job as people read it: one line an event, oldest first."""

from collections.abc import Iterator, Sequence
from typing import Any

from gossamer.cli import words
from gossamer.cli.home import Home
from gossamer.cli.session import say, say_json
from gossamer.questions.history import history
from gossamer.store.events import Line

_WIDEST_HOST = 40  # columns; of a longer one the lines are longer


async def show_history(home: Home, text: str, host: str, limit: int, *, as_json: bool) -> int:
    events = await home.ask(history, text, host, limit)
    found = events.lines
    if as_json:
        say_json([_json(line) for line in found])
        return 0
    for said in lines(found):
        say(said)
    if events.cut:
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
