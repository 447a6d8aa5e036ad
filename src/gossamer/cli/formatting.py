"""Numbers, times and states as people read them."""

import codecs
import re
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

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
    return job.extent.in_pages


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


def pages_far(progress: Progress) -> str:
    """`412 of 1,950 pages (21%)`; `~1,950` while domains are unread, which are taken to be like the others."""
    ended, expected = progress.pages_ended, progress.pages_expected
    about = "~" if progress.ahead and progress.ahead.unread else ""
    return f"{ended:,} of {about}{expected:,} pages ({percent(ended, expected)}%)"


def per_hour(progress: Progress) -> float:
    return progress.sites_recently / progress.window.total_seconds() * 3600


def remaining(progress: Progress) -> str:
    """`~2.3 hours remaining`, or `at least ~4 min, 12 domains are unread`."""
    if progress.left is None:
        return "not known yet"
    if not progress.left_is_least:
        return f"~{duration(progress.left)} remaining"
    unread = progress.ahead.unread if progress.ahead else 0
    why = (
        f"{several(unread, 'domain')} {'is' if unread == 1 else 'are'} unread" if unread else "more pages may be found"
    )
    return f"at least ~{duration(progress.left)} remaining, {why}"


def outcome(progress: Progress) -> str:
    """`4,573 succeeded, 300 failed (see error report)`; partly crawled ones are named, since they are neither."""
    parts = [f"{progress.sites_done:,} succeeded"]
    if progress.sites_partial:
        parts.append(f"{progress.sites_partial:,} partially crawled")
    parts.append(f"{progress.sites_failed:,} failed" + (" (see error report)" if progress.sites_failed else ""))
    return ", ".join(parts)


NO_WORKER = "stopped: no worker"


def state_word(job: Job, runner: int | None, progress: Progress | None = None) -> str:
    """The state; a job nobody works although it should be is `stopped: no worker`.

    With its `progress`, a scrape that is completed and could read no page has failed.
    """
    if runner is None and job.state in (JobState.RUNNING, JobState.PAUSING):
        return NO_WORKER
    if progress and has_failed(job, progress):
        return str(JobState.FAILED)
    return str(job.state)


def has_failed(job: Job, progress: Progress) -> bool:
    """Whether a job for pages came to its end without having read any."""
    return (
        job.extent.names_pages
        and job.state is JobState.COMPLETED
        and not progress.pages_done
        and progress.pages_failed > 0
    )


def day(at: datetime) -> str:
    """`Jan 18` this year, `2025-01-18` before."""
    local = at.astimezone()
    return local.strftime("%b %d") if local.year == datetime.now(UTC).astimezone().year else local.strftime("%Y-%m-%d")


def stamp(at: datetime | None) -> str | None:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if at else None


_UNESCAPED = re.compile("[\x7f-\x9f]")  # the others are escaped by whatever writes JSON

_CONTROLS = {code: None for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n"}


def printable(text: str) -> str:
    """Without what would steer a terminal: pages are other people's, and may try."""
    return text.translate(_CONTROLS)


async def for_screen(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """A file as it may be shown on a terminal."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    async for chunk in chunks:
        yield printable(decoder.decode(chunk)).encode()


def json_text(value: Any, *, indent: bool = False) -> str:
    """JSON that steers no terminal: control characters of every kind are written as escapes."""
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2 if indent else None).decode()
    return text if text.isascii() and "\x7f" not in text else _UNESCAPED.sub(lambda one: f"\\u{ord(one[0]):04x}", text)


def around(snippet: str, keyword: str, width: int = 60) -> str:
    """The middle of a snippet, where the keyword stands, short enough for a table."""
    place = max(snippet.casefold().find(keyword.casefold()), 0)
    begin = max(0, place - width // 2)
    end = min(len(snippet), place + len(keyword) + width // 2)
    return ("..." if begin else "") + snippet[begin:end].strip(" .") + ("..." if end < len(snippet) else "")
