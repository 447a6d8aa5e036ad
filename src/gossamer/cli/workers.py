"""`gossamer system workers`, `queue-status`, `metrics`, `backlog`: who works, and what waits for them."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

import typer

from gossamer.cli.command_help import StrictCommand, command_group
from gossamer.cli.views import JSON

if TYPE_CHECKING:
    from gossamer.cli.home import Home
    from gossamer.model.worker import Worker
    from gossamer.questions.system import Figures, Workers
    from gossamer.store.queue import BackgroundLine, QueueLine

app = command_group()


@app.command("workers", cls=StrictCommand)
def show_workers(as_json: bool = JSON) -> None:
    """The working processes of this machine or cluster: how much each does at a time, and when it was last heard of.

    Example:

    \b
        gossamer system workers
    """
    from gossamer.cli.session import run as run_command

    async def work(home: "Home") -> int:
        from gossamer.cli import tables, words
        from gossamer.cli.session import say, say_json
        from gossamer.questions.system import workers

        answer = await home.ask(workers)
        found, now = answer.workers, answer.now
        if as_json:
            say_json([
                {
                    "id": one.id,
                    "host": one.host,
                    "pid": one.pid,
                    "lanes": one.lanes,
                    "holds": one.holds,
                    "version": one.version,
                    "started": words.stamp(one.started_at),
                    "heard": words.stamp(one.beat_at),
                    "silent": one.is_silent,
                }
                for one in found
            ])  # fmt: skip
            return 0
        if not found:
            say(_without_workers(answer))
            _tell_of_revision(answer)
            return 0
        titles = ["Worker", "Lanes", "Holds", "Version", "Up for", "Last heard of"]
        cells = [
            [
                one.id,
                ",".join(f"{lane}:{room}" for lane, room in sorted(one.lanes.items())),
                f"{one.holds:,}",
                one.version,
                words.duration(now - one.started_at),
                words.ago(one.beat_at, now) + (" (silent)" if one.is_silent else ""),
            ]
            for one in found
        ]
        tables.show(tables.plain(titles, cells, right=("Holds",)))
        say(_room_line(found))
        _tell_of_revision(answer)
        return 0

    run_command(work, may_be_older=True)


def _tell_of_revision(answer: "Workers") -> None:
    from gossamer.cli.session import say

    if answer.older:
        say(
            f"The database is at revision {answer.older} and is yet to be upgraded for this program: when all workers "
            "and servers have ended, run 'gossamer db upgrade'."
        )


def _room_of(found: "Sequence[Worker]") -> dict[str, int]:
    """How many visits there may be at a time, per lane."""
    room: dict[str, int] = {}
    for one in found:
        if not one.is_silent:
            for lane, slots in one.lanes.items():
                room[lane] = room.get(lane, 0) + slots
    return room


def _room_line(found: "Sequence[Worker]") -> str:
    """`4 processes, at most http 95, desk 5 at a time.`"""
    living = sum(not one.is_silent for one in found)
    room = ", ".join(f"{lane} {slots:,}" for lane, slots in sorted(_room_of(found).items()))
    return f"{living:,} {'process' if living == 1 else 'processes'}, at most {room or 'nothing'} at a time."


def _without_workers(answer: "Workers") -> str:
    """Who works instead. Workers are for clusters: where there is none, nobody is told to start one."""
    if answer.runner:
        said = f"Process {answer.runner} runs the jobs of this home; its working processes are starting."
    elif answer.runner is not None:
        said = "No workers: another process works the jobs of this database by itself."
    else:
        said = "No workers, and nobody works this home."
    if answer.is_cluster:
        return f"{said} Start a worker with 'gossamer worker'."
    return said if answer.runner is not None else f"{said} 'gossamer job run' and 'gossamer serve' do, while they run."


@app.command("cluster-settings", cls=StrictCommand)
def show_cluster_settings(
    forget: bool = typer.Option(False, "--forget", help="Let the next worker that starts set them anew."),
    as_json: bool = JSON,
) -> None:
    """The settings that all machines of a cluster must share, and which machine set them first.

    A worker that starts with another value is refused. To change one, stop all workers, or give --forget and start them
    anew one after the other: until the last one has been, the machines differ.

    Examples:

    \b
        gossamer system cluster-settings

        gossamer system cluster-settings --forget
    """
    from gossamer.cli.session import run as run_command

    async def work(home: "Home") -> int:
        from gossamer.cli import tables, words
        from gossamer.cli.session import say, say_json
        from gossamer.questions.system import forget_shared_settings, shared_settings

        if forget:
            count = await home.ask(forget_shared_settings)
            if as_json:
                say_json({"forgotten": count})
            else:
                say("Forgotten. The next worker that starts sets them anew." if count else "There were none.")
            return 0
        found = await home.ask(shared_settings)
        if as_json:
            say_json([
                {"name": one.name, "value": one.value, "host": one.host, "since": words.stamp(one.at)} for one in found
            ])  # fmt: skip
        elif not found:
            say("None yet. The first worker of a cluster sets them.")
        else:
            cells = [[one.name, one.value, one.host, words.moment(one.at)[:19]] for one in found]
            tables.show(tables.plain(["Setting", "Value", "Set by", "Since"], cells))
        return 0

    run_command(work)


@app.command("queue-status", cls=StrictCommand)
def show_queue(as_json: bool = JSON) -> None:
    """What waits for a slot, what is on its way and what is being walked, by lane and job; and desk work by kind.

    Example:

    \b
        gossamer system queue-status
    """
    from gossamer.cli.session import run as run_command

    async def work(home: "Home") -> int:
        from gossamer.cli.session import say, say_json
        from gossamer.questions.system import waiting

        answer = await home.ask(waiting)
        found, at_desks = answer.lanes, answer.desks
        if as_json:
            room = _room_of(answer.workers)
            say_json([*(_line(one, room) for one in found), *(_desk_line(one) for one in at_desks)])
            return 0
        if not found:
            say("Nothing waits: no job is at work.")
        else:
            _show_lanes(found)
        if answer.workers:
            say(_room_line(answer.workers))
        if any(one.ready or one.running for one in at_desks):
            _show_desks(at_desks)
        return 0

    run_command(work)


def _show_lanes(found: Sequence["QueueLine"]) -> None:
    from gossamer.cli import tables, words
    from gossamer.model.ids import short

    titles = ["Lane", "Job", "Name", "Priority", "Ready", "Later", "Issued", "Running", "Oldest wait"]
    cells = [
        [
            one.lane,
            short(one.job_id),
            one.name,
            one.priority,
            *(f"{count:,}" for count in (one.ready, one.later, one.issued, one.running)),
            words.duration(one.oldest_wait) if one.oldest_wait is not None else "",
        ]
        for one in found
    ]
    tables.show(tables.plain(titles, cells, right=("Ready", "Later", "Issued", "Running", "Oldest wait")))


def _show_desks(found: Sequence["BackgroundLine"]) -> None:
    from gossamer.cli import tables, words

    titles = ["Desk work", "Priority", "Ready", "Running", "At most", "Oldest wait"]
    cells = [
        [
            one.kind,
            *(f"{count:,}" for count in (one.priority, one.ready, one.running, one.limit)),
            words.duration(one.oldest_wait) if one.oldest_wait is not None else "",
        ]
        for one in found
    ]
    tables.show(tables.plain(titles, cells, right=tuple(titles[1:])))


def _desk_line(one: "BackgroundLine") -> dict[str, object]:
    return {
        "lane": "desk",
        "job": None,
        "name": one.kind,
        "priority": one.priority,
        "ready": one.ready,
        "later": 0,
        "issued": 0,
        "running": one.running,
        "limit": one.limit,
        "oldest_wait_seconds": _seconds(one.oldest_wait),
    }


def _seconds(time: timedelta | None) -> float | None:
    return time.total_seconds() if time is not None else None


def _line(one: "QueueLine", room: Mapping[str, int]) -> dict[str, object]:
    return {
        "lane": one.lane,
        "job": str(one.job_id),
        "name": one.name,
        "priority": one.priority,
        "ready": one.ready,
        "later": one.later,
        "issued": one.issued,
        "running": one.running,
        "oldest_wait_seconds": _seconds(one.oldest_wait),
        "limit": room.get(one.lane, 0),
    }


@app.command("backlog", cls=StrictCommand)
def show_backlog(
    lane: str = typer.Option("http", "--lane", metavar="LANE", help="Which lane."), as_json: bool = JSON
) -> None:
    """How many visits of a lane want a worker now, as one number: what an autoscaler goes by.

    Example:

    \b
        gossamer system backlog --lane http
    """
    from gossamer.cli.session import run as run_command

    async def work(home: "Home") -> int:
        from gossamer.cli.session import say, say_json
        from gossamer.questions.system import backlog

        count = await home.ask(backlog, lane)
        if as_json:
            say_json({"lane": lane, "backlog": count})
        else:
            say(str(count))
        return 0

    run_command(work)


@app.command("metrics", cls=StrictCommand)
def show_metrics(as_json: bool = JSON) -> None:
    """Figures of the whole system, all of them from rows: work done in the last minutes, room, what waits.

    Example:

    \b
        gossamer system metrics --json
    """
    from gossamer.cli.session import run as run_command

    async def work(home: "Home") -> int:
        from gossamer.cli.session import say, say_json
        from gossamer.questions.system import figures as question

        figures = metrics(await home.ask(question))
        if as_json:
            say_json(figures)
            return 0
        for name, value in figures.items():
            if isinstance(value, dict):
                value = ", ".join(f"{key} {number:,}" for key, number in value.items()) or "none"
            say(f"{name.replace('_', ' '):<32}{'nothing known' if value is None else value}")
        return 0

    run_command(work)


def metrics(told: "Figures") -> dict[str, object]:
    from gossamer.questions.system import WINDOW

    found = [one for one in told.workers if not one.is_silent]
    waiting, attention, server = told.lanes, told.attention, told.server
    done, solved = told.done, told.solved
    waits = [one.oldest_wait.total_seconds() for one in waiting if one.oldest_wait is not None]
    return {
        "workers": len(found),
        "room": _room_of(found),
        "visits": {
            name: sum(getattr(one, name) for one in waiting) for name in ("ready", "later", "issued", "running")
        },
        "oldest_wait_seconds": round(max(waits), 3) if waits else 0,
        "jobs": told.jobs,
        "sites_per_minute": round(done.per_minute(done.sites), 2),
        "pages_per_minute": round(done.per_minute(done.pages), 2),
        "records_per_minute": round(done.per_minute(done.records), 2),
        "domains_per_minute_of_jobs": {job: round(speed, 2) for job, speed in told.paces.items()},
        "error_rate": round(done.error_rate, 4),
        "database_write_seconds": round(done.write_seconds, 3),
        "provider_requests_per_second": {
            provider: round(count / WINDOW.total_seconds(), 3) for provider, count in sorted(told.calls.items())
        },
        "flaresolverr_success_rate": round(solved.rate, 4) if solved.tries else None,
        "alerts": attention.alerts,
        "dead_letters": attention.dead_letters,
        "database_connections": {"open": server.connections, "most": server.most_connections} if server else {},
    }
