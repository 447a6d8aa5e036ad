"""Numbers, times and states as people read them."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from gossamer.model.job import Job, Progress
from gossamer.model.page import ASKED_AGAIN, Attempt
from gossamer.model.states import JobState


def duration(time: timedelta) -> str:
    """`45 s`, `12 min`, `2.3 hours`, `3.1 days`."""
    seconds = max(0.0, time.total_seconds())
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    if seconds < 172_800:
        return f"{seconds / 3600:.1f} hours"
    return f"{seconds / 86_400:.1f} days"


def seconds(milliseconds: int) -> str:
    """`52 ms`, `1.02 s`, `12.3 s`, `5 min`: short times, of which the hundredths matter."""
    if milliseconds < 1_000:
        return f"{milliseconds} ms"
    if milliseconds < 10_000:
        return f"{milliseconds / 1000:.2f} s"
    return f"{milliseconds / 1000:.1f} s" if milliseconds < 90_000 else duration(timedelta(milliseconds=milliseconds))


def moment(at: datetime) -> str:
    """`2026-01-18 14:03:07.250`, by this machine's clock on the wall."""
    return at.astimezone().isoformat(sep=" ", timespec="milliseconds")[:23]


def ago(at: datetime | None, now: datetime) -> str:
    if at is None:
        return "none yet"
    passed = now - at
    return "just now" if passed < timedelta(seconds=5) else f"{duration(passed)} ago"


def percent(part: int, whole: int) -> int:
    return part * 100 // whole if whole else 100


def domains(progress: Progress) -> str:
    """`3,241/5,000 domains (65%)`."""
    done, total = progress.sites_finished, progress.sites_total
    return f"{done:,}/{total:,} domains ({percent(done, total)}%)"


def is_of_pages(job: Job) -> bool:
    return job.is_of_pages


def far(job: Job, progress: Progress) -> str:
    """How far a job is: `3,241/5,000 domains (65%)`, or `48/50 pages (96%)`."""
    done, total = progress.of(job)
    return f"{done:,}/{total:,} pages ({percent(done, total)}%)" if is_of_pages(job) else domains(progress)


def found(job: Job, progress: Progress) -> str:
    """`1,204 matches`; what came of pages are results."""
    return several(progress.records, "result") if is_of_pages(job) else matches(progress.records)


def matches(count: int) -> str:
    return f"{count:,} match{'' if count == 1 else 'es'}"


def several(count: int, thing: str) -> str:
    """`1 page`, `2,400 pages`."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def visits(count: int) -> str:
    return several(count, "visit")


def finishing(busy: int, paid: int) -> str:
    """What a job that is told to rest still waits for: `2 visits finishing, 1 paid request under way`."""
    return f"{visits(busy)} finishing" + (f", {several(paid, 'paid request')} under way" if paid else "")


def tries(attempts: Sequence[Attempt]) -> int:
    """How often a page was tried: that it was asked for again by hand is no try."""
    return sum(attempt.rung != ASKED_AGAIN for attempt in attempts)


def per_hour(progress: Progress) -> float:
    return progress.sites_recently / progress.window.total_seconds() * 3600


def eta(progress: Progress) -> timedelta | None:
    """How long the rest takes at the present pace; None while there is no pace to go by.

    When every domain has begun, those that are left are the slow ones, and how fast others ended says nothing of them:
    then their known pages count too, at the pace at which pages come. More may be found: see `eta_is_least`.
    """
    left = progress.sites_total - progress.sites_finished
    if left <= 0:
        return None
    paces = [(left, per_hour(progress))]
    if progress.all_begun:
        paces.append((progress.pages_open, progress.pages_recently / progress.pages_window.total_seconds() * 3600))
    hours = [rest / pace for rest, pace in paces if rest and pace > 0]
    return timedelta(hours=max(hours)) if hours else None


def eta_is_least(progress: Progress) -> bool:
    """Whether the rest may take longer than `eta` by any amount: the last domains may still show more pages."""
    return progress.all_begun and progress.sites_finished < progress.sites_total


def remaining(progress: Progress) -> str:
    """`~2.3 hours remaining`, `at least ~4 min, for the last 2 domains`."""
    time = eta(progress)
    if not eta_is_least(progress):
        return f"~{duration(time)} remaining" if time else "not known yet"
    left = progress.sites_total - progress.sites_finished
    last = "the last domain" if left == 1 else f"the last {left:,} domains"
    return f"at least ~{duration(time)}, for {last}" if time else f"not known, for {last}"


def outcome(progress: Progress) -> str:
    """`4,573 succeeded, 300 failed`; partly crawled ones are named, since they are neither."""
    parts = [f"{progress.sites_done:,} succeeded"]
    if progress.sites_partial:
        parts.append(f"{progress.sites_partial:,} partially crawled")
    parts.append(f"{progress.sites_failed:,} failed")
    return ", ".join(parts)


NO_WORKER = "stopped: no worker"


def state_word(job: Job, runner: int | None) -> str:
    """The state; a job nobody works although it should be is `stopped: no worker`."""
    if runner is None and job.state in (JobState.RUNNING, JobState.PAUSING):
        return NO_WORKER
    return str(job.state)


def day(at: datetime) -> str:
    """`Jan 18` this year, `2025-01-18` before."""
    local = at.astimezone()
    return local.strftime("%b %d") if local.year == datetime.now(UTC).astimezone().year else local.strftime("%Y-%m-%d")


def stamp(at: datetime | None) -> str | None:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if at else None


_CONTROLS = {code: None for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n"}


def printable(text: str) -> str:
    """Without what would steer a terminal: pages are other people's, and may try."""
    return text.translate(_CONTROLS)


def around(snippet: str, keyword: str, width: int = 60) -> str:
    """The middle of a snippet, where the keyword stands, short enough for a table."""
    place = max(snippet.casefold().find(keyword.casefold()), 0)
    begin = max(0, place - width // 2)
    end = min(len(snippet), place + len(keyword) + width // 2)
    return ("..." if begin else "") + snippet[begin:end].strip(" .") + ("..." if end < len(snippet) else "")
