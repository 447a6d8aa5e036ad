"""Numbers, times and states of jobs as text."""

import codecs
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from gossamer.model.job import Job, Progress
from gossamer.model.page import ASKED_AGAIN, Attempt
from gossamer.model.states import JobState
from gossamer.recipes.base import plural_form
from gossamer.recipes.registry import nouns_of


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
    """Short times to the hundredth: `52 ms`, `1.02 s`, `12.3 s`, `5 min`."""
    if milliseconds < 1_000:
        return f"{milliseconds} ms"
    if milliseconds < 10_000:
        return f"{milliseconds / 1000:.2f} s"
    return f"{milliseconds / 1000:.1f} s" if milliseconds < 90_000 else duration(timedelta(milliseconds=milliseconds))


def local_time(at: datetime) -> str:
    """Local time to the millisecond: `2026-01-18 14:03:07.250`."""
    return at.astimezone().isoformat(sep=" ", timespec="milliseconds")[:23]


def ago(at: datetime | None, now: datetime) -> str:
    if at is None:
        return "none yet"
    passed = now - at
    return "just now" if passed < timedelta(seconds=5) else f"{duration(passed)} ago"


def percent(part: int, whole: int) -> int:
    return part * 100 // whole if whole else 100


def progress_text(job: Job, progress: Progress) -> str:
    """Describe a job's progress: `3,241/5,000 domains (65%)`, or `48/50 pages (96%)`."""
    done, total = progress.of(job)
    given = "page" if job.extent.in_pages else nouns_of(job.recipe).given
    return f"{done:,}/{total:,} {plural_form(given)} ({percent(done, total)}%)"


def found_title(recipes: Iterable[str]) -> str:
    """`Matches`: the title of what jobs of these recipes have found; `Results` where it is not the same."""
    nouns = {nouns_of(recipe).found for recipe in recipes}
    return plural_form(nouns.pop() if len(nouns) == 1 else "result").capitalize()


def record_count(job: Job, progress: Progress) -> str:
    """`1,204 matches`; what came of pages are results."""
    return nouns_of(job.recipe).count_found(progress.records)


def plural(count: int, thing: str) -> str:
    """`1 page`, `2,400 pages`."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def visits(count: int) -> str:
    return plural(count, "visit")


def work_in_progress(busy: int, paid: int) -> str:
    """Work in progress that a pausing job waits for: `2 visits finishing, 1 paid request under way`."""
    return f"{visits(busy)} finishing" + (f", {plural(paid, 'paid request')} under way" if paid else "")


def tries(attempts: Sequence[Attempt]) -> int:
    """The number of times a page was tried; being asked for again by hand is not a try."""
    return sum(attempt.rung != ASKED_AGAIN for attempt in attempts)


def page_progress(progress: Progress) -> str:
    """`412 of 1,950 pages (21%)`; `~1,950` while the size of unread domains is a guess."""
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
    why = f"{plural(unread, 'domain')} {'is' if unread == 1 else 'are'} unread" if unread else "more pages may be found"
    return f"at least ~{duration(progress.left)} remaining, {why}"


def domain_outcomes(progress: Progress) -> str:
    """`4,573 succeeded, 300 failed (see error report)`, with partly crawled domains between them."""
    parts = [f"{progress.sites_done:,} succeeded"]
    if progress.sites_partial:
        parts.append(f"{progress.sites_partial:,} partially crawled")
    parts.append(f"{progress.sites_failed:,} failed" + (" (see error report)" if progress.sites_failed else ""))
    return ", ".join(parts)


NO_WORKER = "stopped: no worker"


def shown_state(job: Job, runner: int | None, progress: Progress | None = None) -> str:
    """The state; `stopped: no worker` for a job that should be running and is not.

    With `progress`, a completed scrape that could read no page counts as failed.
    """
    if runner is None and job.state in (JobState.RUNNING, JobState.PAUSING):
        return NO_WORKER
    if progress and has_failed(job, progress):
        return str(JobState.FAILED)
    return str(job.state)


def has_failed(job: Job, progress: Progress) -> bool:
    """True if a job for pages ended without having read any."""
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


def timestamp(at: datetime | None) -> str | None:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if at else None


_UNESCAPED = re.compile("[\x7f-\x9f]")  # the JSON encoder escapes the others
_CONTROLS = {code: None for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n"}


def printable(text: str) -> str:
    """Text without the control characters that could affect a terminal; it comes from other people's pages."""
    return text.translate(_CONTROLS)


async def printable_chunks(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The bytes of a file, made safe for a terminal."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    async for chunk in chunks:
        yield printable(decoder.decode(chunk)).encode()


def json_text(value: Any, *, indent: bool = False) -> str:
    """JSON with all control characters escaped, so that it is safe for a terminal."""
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2 if indent else None).decode()
    return text if text.isascii() and "\x7f" not in text else _UNESCAPED.sub(lambda one: f"\\u{ord(one[0]):04x}", text)


def excerpt(snippet: str, keyword: str, width: int = 60) -> str:
    """The part of a snippet around the keyword, short enough for a table."""
    place = max(snippet.casefold().find(keyword.casefold()), 0)
    begin = max(0, place - width // 2)
    end = min(len(snippet), place + len(keyword) + width // 2)
    return ("..." if begin else "") + snippet[begin:end].strip(" .") + ("..." if end < len(snippet) else "")
