"""`gossamer system`: workers, queues, figures of the whole system, alerts and dead letters."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from rich.table import Table
from rich.text import Text

from gossamer.cli import formatting, tables
from gossamer.cli.home import Home
from gossamer.cli.runtime import say, say_json
from gossamer.model.alert import Alert
from gossamer.model.ids import short
from gossamer.model.rungs import Lane
from gossamer.model.worker import Worker
from gossamer.questions import system
from gossamer.questions.system import WINDOW, Figures, Workers
from gossamer.store.dead_letters import DeadLetter
from gossamer.store.queue_status import BackgroundLine, QueueLine

_LABEL = 12  # columns


async def show_workers(home: Home, *, as_json: bool) -> None:
    answer = await home.ask(system.workers)
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
                "started": formatting.timestamp(one.started_at),
                "heard": formatting.timestamp(one.beat_at),
                "silent": one.is_silent,
            }
            for one in found
        ])  # fmt: skip
        return
    if not found:
        say(_no_workers_sentence(answer))
        _print_old_revision(answer)
        return
    titles = ["Worker", "Lanes", "Holds", "Version", "Up for", "Last heard of"]
    cells = [
        [
            one.id,
            ",".join(f"{lane}:{room}" for lane, room in sorted(one.lanes.items())),
            f"{one.holds:,}",
            one.version,
            formatting.duration(now - one.started_at),
            formatting.ago(one.beat_at, now) + (" (silent)" if one.is_silent else ""),
        ]
        for one in found
    ]
    tables.show(tables.plain(titles, cells, right=("Holds",)))
    say(_room_line(found))
    _print_old_revision(answer)


def _print_old_revision(answer: Workers) -> None:
    if answer.older:
        say(
            f"The database is at revision {answer.older} and is yet to be upgraded for this program: when all workers "
            "and servers have ended, run 'gossamer db upgrade'."
        )


def _room_of(found: Sequence[Worker]) -> dict[str, int]:
    """The capacity of all workers in visits, by lane."""
    room: dict[str, int] = {}
    for one in found:
        if not one.is_silent:
            for lane, slots in one.lanes.items():
                room[lane] = room.get(lane, 0) + slots
    return room


def _room_line(found: Sequence[Worker]) -> str:
    """`4 processes, at most http 95, desk 5 at a time.`"""
    living = sum(not one.is_silent for one in found)
    room = ", ".join(f"{lane} {slots:,}" for lane, slots in sorted(_room_of(found).items()))
    return f"{living:,} {'process' if living == 1 else 'processes'}, at most {room or 'nothing'} at a time."


def _no_workers_sentence(answer: Workers) -> str:
    """The process that works instead of workers. Suggests starting one only for a cluster."""
    if answer.runner:
        said = f"Process {answer.runner} runs the jobs of this data folder; its working processes are starting."
    elif answer.runner is not None:
        said = "No workers: another process runs the jobs of this database."
    else:
        said = "No workers, and no process of this data folder runs jobs."
    if answer.is_cluster:
        return f"{said} Start a worker with 'gossamer worker'."
    return said if answer.runner is not None else f"{said} 'gossamer job run' and 'gossamer serve' do while they run."


async def show_cluster_settings(home: Home, *, forget: bool, as_json: bool) -> None:
    if forget:
        count = await home.ask(system.forget_shared_settings)
        if as_json:
            say_json({"forgotten": count})
        else:
            say("Forgotten. The next worker that starts sets them anew." if count else "There were none.")
        return
    found = await home.ask(system.shared_settings)
    if as_json:
        say_json([
            {"name": one.name, "value": one.value, "host": one.host, "since": formatting.timestamp(one.at)}
            for one in found
        ])  # fmt: skip
    elif not found:
        say("None yet. The first worker of a cluster sets them.")
    else:
        cells = [[one.name, one.value, one.host, formatting.local_time(one.at)[:19]] for one in found]
        tables.show(tables.plain(["Setting", "Value", "Set by", "Since"], cells))


async def show_queue(home: Home, *, as_json: bool) -> None:
    answer = await home.ask(system.waiting)
    found, at_desks = answer.lanes, answer.desks
    if as_json:
        room = _room_of(answer.workers)
        say_json([*(_line(one, room) for one in found), *(_desk_line(one) for one in at_desks)])
        return
    if not found:
        say("Nothing waits: no job is at work.")
    else:
        _show_lanes(found)
    if answer.workers:
        say(_room_line(answer.workers))
    if any(one.ready or one.running for one in at_desks):
        _show_desks(at_desks)


def _show_lanes(found: Sequence[QueueLine]) -> None:
    titles = ["Lane", "Job", "Name", "Priority", "Ready", "Later", "Issued", "Running", "Oldest wait"]
    cells = [
        [
            one.lane,
            short(one.job_id),
            one.name,
            one.priority,
            *(f"{count:,}" for count in (one.ready, one.later, one.issued, one.running)),
            formatting.duration(one.oldest_wait) if one.oldest_wait is not None else "",
        ]
        for one in found
    ]
    tables.show(tables.plain(titles, cells, right=("Ready", "Later", "Issued", "Running", "Oldest wait")))


def _show_desks(found: Sequence[BackgroundLine]) -> None:
    titles = ["Desk work", "Priority", "Ready", "Running", "At most", "Oldest wait"]
    cells = [
        [
            one.kind,
            *(f"{count:,}" for count in (one.priority, one.ready, one.running, one.limit)),
            formatting.duration(one.oldest_wait) if one.oldest_wait is not None else "",
        ]
        for one in found
    ]
    tables.show(tables.plain(titles, cells, right=tuple(titles[1:])))


def _desk_line(one: BackgroundLine) -> dict[str, object]:
    return {
        "lane": Lane.DESK,
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


def _line(one: QueueLine, room: Mapping[str, int]) -> dict[str, object]:
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


async def show_backlog(home: Home, lane: str, *, as_json: bool) -> None:
    count = await home.ask(system.backlog, lane)
    if as_json:
        say_json({"lane": lane, "backlog": count})
    else:
        say(str(count))


async def show_metrics(home: Home, *, as_json: bool) -> None:
    figures = metrics(await home.ask(system.figures))
    if as_json:
        say_json(figures)
        return
    for name, value in figures.items():
        if isinstance(value, dict):
            value = ", ".join(f"{key} {number:,}" for key, number in value.items()) or "none"
        say(f"{name.replace('_', ' '):<32}{'nothing known' if value is None else value}")


def metrics(figures: Figures) -> dict[str, object]:
    found = [one for one in figures.workers if not one.is_silent]
    waiting, attention, server = figures.lanes, figures.attention, figures.server
    done, solved = figures.done, figures.solved
    waits = [one.oldest_wait.total_seconds() for one in waiting if one.oldest_wait is not None]
    return {
        "workers": len(found),
        "room": _room_of(found),
        "visits": {
            name: sum(getattr(one, name) for one in waiting) for name in ("ready", "later", "issued", "running")
        },
        "oldest_wait_seconds": round(max(waits), 3) if waits else 0,
        "jobs": figures.jobs,
        "sites_per_minute": round(done.per_minute(done.sites), 2),
        "pages_per_minute": round(done.per_minute(done.pages), 2),
        "records_per_minute": round(done.per_minute(done.records), 2),
        "domains_per_minute_of_jobs": {job: round(speed, 2) for job, speed in figures.paces.items()},
        "error_rate": round(done.error_rate, 4),
        "database_write_seconds": round(done.write_seconds, 3),
        "provider_requests_per_second": {
            provider: round(count / WINDOW.total_seconds(), 3) for provider, count in sorted(figures.calls.items())
        },
        "flaresolverr_success_rate": round(solved.rate, 4) if solved.tries else None,
        "alerts": attention.alerts,
        "dead_letters": attention.dead_letters,
        "database_connections": {"open": server.connections, "most": server.most_connections} if server else {},
    }


async def show_alerts(home: Home, limit: int, *, cleared: bool, as_json: bool) -> None:
    found = await home.ask(system.alerts, limit, cleared=cleared)
    if as_json:
        say_json([_alert_json(alert) for alert in found])
    elif not found:
        say("No alerts." if cleared else "No alerts. Those that are over: 'gossamer system alerts --all'.")
    for alert in [] if as_json else found:
        over = f", over since {formatting.local_time(alert.cleared_at)[:19]}" if alert.cleared_at else ""
        say(f"{formatting.local_time(alert.fired_at)[:19]} {alert.kind}{over}: {alert.sentence}")
        if step := next_step(alert):
            say(f"  {step}")


_NEXT = {
    "errors": "Which requests failed, and why: 'gossamer job errors ID'. If many sites fail at once, check the "
    "network of this machine: 'gossamer doctor'.",
    "throughput": "How it goes: 'gossamer job status ID'.",
    "audit": "What does not add up: 'gossamer job audit ID'.",
    "dead-letter": "Look at them: 'gossamer system dead-letters list'.",
}


def next_step(alert: Alert) -> str:
    """The command to look at next; empty where the sentence of the alert already names one."""

    return _NEXT.get(alert.kind, "").replace(" ID'", f" {short(alert.job_id) if alert.job_id else 'last'}'")


def _alert_json(alert: Alert) -> dict[str, object]:
    return {
        "id": str(alert.id),
        "kind": str(alert.kind),
        "job": str(alert.job_id) if alert.job_id else None,
        "sentence": alert.sentence,
        "next_step": next_step(alert),
        "since": formatting.timestamp(alert.fired_at),
        "over": formatting.timestamp(alert.cleared_at),
    }


async def show_dead_letters(home: Home, limit: int, *, as_json: bool) -> None:
    found = await home.ask(system.letters, limit)
    if as_json:
        say_json([dead_letter_json(letter) for letter in found])
        return
    if not found:
        say("No dead letters: no visit had to be given up, or all of them were looked after.")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("ID", "Job", "Domain", "Deaths", "When", "Last error"):
        table.add_column(title, no_wrap=title != "Last error", overflow="fold")
    for letter in found:
        cells = (short(letter.id), short(letter.job_id), letter.host, str(letter.deaths))
        table.add_row(*cells, formatting.local_time(letter.died_at)[:19], Text(letter.last_error))
    tables.show(table)
    say("Look at one with 'gossamer system dead-letters show ID'.")


async def show_dead_letter(home: Home, text: str, *, as_json: bool) -> None:
    letter = await home.ask(system.letter, text)
    if as_json:
        say_json(dead_letter_json(letter))
        return
    for label, fact in _facts(letter):
        say(f"{label:<{_LABEL}}{fact}")


async def retry_dead_letter(home: Home, text: str, *, as_json: bool) -> None:
    revived = await home.ask(system.revive, text)
    letter, state = revived.letter, revived.job_state
    if as_json:
        say_json({**dead_letter_json(letter), "job_state": state})
        return
    say(f"{letter.host} will be crawled again (up to 3 crashes). Job {short(letter.job_id)} is {state}.")
    if not revived.is_worked:
        say(f"No jobs run here now. Resume it with 'gossamer job resume {short(letter.job_id)}'.")


async def drop_dead_letter(home: Home, text: str, *, as_json: bool) -> None:
    letter = await home.ask(system.drop, text)
    if as_json:
        say_json(dead_letter_json(letter))
    else:
        say(f"Dropped. {letter.host} stays failed in job {short(letter.job_id)}.")


def dead_letter_json(letter: DeadLetter) -> dict[str, Any]:
    return {
        "id": str(letter.id),
        "job": str(letter.job_id),
        "job_name": letter.job_name,
        "job_state": letter.job_state,
        "domain": letter.host,
        "lane": letter.lane,
        "deaths": letter.deaths,
        "last_error": letter.last_error,
        "died_at": formatting.timestamp(letter.died_at),
        "pages": letter.pages,
    }


def _facts(letter: DeadLetter) -> Iterator[tuple[str, str]]:
    job, identifier = short(letter.job_id), short(letter.id)
    yield "Visit", f"{letter.id}, {letter.lane} lane"
    yield "Job", f"{letter.job_name} ({job}), {letter.job_state}"
    yield "Domain", letter.host
    yield "Given up", f"{formatting.local_time(letter.died_at)}, after {letter.deaths} deaths without a page in between"
    yield "Last error", letter.last_error
    yield "Pages", f"{letter.pages:,} were open and failed with it"
    yield "History", f"gossamer job history {job} --site {letter.host}"
    yield "Retry", f"gossamer system dead-letters retry {identifier}"
    yield "Drop", f"gossamer system dead-letters drop {identifier}"
