"""`gossamer scrape`: create a job for the pages, follow it to its end, print a line of JSON for each page."""

import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
import typer

from gossamer.cli import formatting, report
from gossamer.cli.command_group import as_called
from gossamer.cli.home import Home
from gossamer.cli.main import FAILED
from gossamer.cli.screen import QuietScreen, Screen, choose_screen
from gossamer.errors import UserError
from gossamer.export.write import write_file, write_stream
from gossamer.intake.addresses import AddressList, read_address_file, read_addresses
from gossamer.intake.textfile import name_of, read_text
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.money import Cap
from gossamer.model.states import JobState, PageState
from gossamer.questions.pages import scraped
from gossamer.questions.submitting import house_rules
from gossamer.recipes.scrape.request import scrape_request, with_usual_cap

_AT_ONCE = 50  # results in memory
_EXPECTED_RULES = 'Expected JSON like {"title": "h1", "price": {"css": ".price", "type": "price"}}.'


@dataclass(frozen=True, slots=True)
class ScrapeOptions:
    """The options of `gossamer scrape`."""

    urls: tuple[str, ...]
    file: Path | None
    formats: tuple[str, ...]
    extract: Path | None
    mode: str | None
    ladder: str | None
    name: str
    cap: Cap
    only_main_content: bool = True

    def listed(self) -> AddressList:
        if self.file is None:
            return read_addresses(self.urls)
        listed = read_address_file(self.file)
        return read_addresses([*self.urls, *listed.urls]) if self.urls else listed


async def scrape_pages(
    home: Home, wanted: ScrapeOptions, output: Path, *, plain: bool, processes: int | None, detach: bool, quiet: bool
) -> int:
    home.check()
    house = await home.ask(house_rules)
    listed = wanted.listed()
    rules = _read_rules(wanted.extract) if wanted.extract else None
    request = scrape_request(
        listed,
        house.rungs,
        formats=wanted.formats,
        rules=rules,
        mode=wanted.mode,
        ladder=wanted.ladder,
        name=wanted.name,
        cap=wanted.cap,
        only_main_content=wanted.only_main_content,
    )
    if plain:
        _refuse_more_than_one(listed, request.params.get("formats") or ["markdown"])
    many = len(listed.urls) > 1
    if listed.duplicates:
        _print_note(f"Removed {formatting.plural(listed.duplicates, 'duplicate')}.", quiet=quiet)
    job = (await home.submit(with_usual_cap(request, Cap(house.max_credits)))).job
    if many or detach:
        _print_note(f"Job {short(job.id)}: {formatting.plural(len(listed.urls), 'page')}.", quiet=quiet)
    if detach:
        await home.let_work(processes)
        _print_note(f"It runs in the background. Look with 'gossamer job status {short(job.id)}'.", quiet=quiet)
        return 0
    screen: Screen = choose_screen(quiet=False, to_errors=True) if many and not quiet else QuietScreen()
    job = await home.follow(job.id, screen, processes or min(len(listed.targets), house.processes))
    if job.state is not JobState.COMPLETED:
        for line in _unfinished(job):
            _print_note(line)
        return report.exit_code(job)
    counted = _Counted()
    await _write(output, _plain(home, job.id, listed, counted) if plain else _lines(home, job.id, listed, counted))
    if many or counted.failed:
        _print_note(_sentence(counted, output), quiet=quiet)
    return FAILED if counted.failed else 0


@dataclass(slots=True)
class _Counted:
    read: int = 0
    failed: int = 0
    why: str = ""


async def _objects(home: Home, job_id: UUID, listed: AddressList, counted: _Counted) -> AsyncIterator[dict[str, Any]]:
    """The result of each address, in the order given."""
    for start in range(0, len(listed.urls), _AT_ONCE):
        for page in await home.ask(scraped, str(job_id), list(listed.urls[start : start + _AT_ONCE])):
            is_read = page["status"] == PageState.DONE
            counted.read += is_read
            counted.failed += not is_read
            counted.why = counted.why or page["error"] or ""
            yield page


async def _lines(home: Home, job_id: UUID, listed: AddressList, counted: _Counted) -> AsyncIterator[bytes]:
    async for one in _objects(home, job_id, listed, counted):
        yield formatting.json_text(one).encode() + b"\n"


async def _plain(home: Home, job_id: UUID, listed: AddressList, counted: _Counted) -> AsyncIterator[bytes]:
    """The content alone: text as it is, structured content as JSON."""
    known = {"url", "status", "error", "reason", "http_status", "tries", "files", "final_url", "crawl_method"}
    known |= {"timestamp", "content_type", "bytes", "title", "language"}
    async for one in _objects(home, job_id, listed, counted):
        for name, content in one.items():
            if name in known or content is None:
                continue
            text = content if isinstance(content, str) else formatting.json_text(content, indent=True)
            yield text.encode() + b"\n"


async def _write(output: Path, chunks: AsyncIterator[bytes]) -> None:
    if str(output) != "-":
        await write_file(output, chunks)
        return
    # Content of pages must not affect the terminal.
    await write_stream(sys.stdout.buffer, formatting.printable_chunks(chunks) if sys.stdout.isatty() else chunks)
    sys.stdout.buffer.flush()


def _read_rules(path: Path) -> Mapping[str, Any]:
    text = read_text(path, "rules", _EXPECTED_RULES)
    try:
        rules = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UserError(
            "rules.invalid",
            f"{name_of(path)}, line {error.lineno}: this is not JSON ({error.msg.partition(':')[0]}).",
            hint=_EXPECTED_RULES,
        ) from error
    if not isinstance(rules, dict):
        raise UserError("rules.invalid", f"{name_of(path)} holds no object of rules.", hint=_EXPECTED_RULES)
    return rules


def _refuse_more_than_one(listed: AddressList, formats: list[str]) -> None:
    if len(listed.urls) > 1 or len(formats) > 1:
        what = f"{formatting.plural(len(listed.urls), 'page')} in {formatting.plural(len(formats), 'format')}"
        raise UserError(
            "scrape.plain", f"--plain is for one page in one format, this is {what}.", hint="Leave --plain out."
        )


def _unfinished(job: Job) -> list[str]:
    identifier = short(job.id)
    if job.state in (JobState.CANCELLED, JobState.FAILED):
        why = f": {job.reason}" if job.reason else ""
        return [f"Job {identifier} was {job.state}{why}."]
    return [
        f"Job {identifier} is {job.state}. {job.reason}".rstrip(),
        f"Go on with 'gossamer job resume {identifier}', "
        f"then have all of it with 'gossamer job export {identifier} --output pages.jsonl'.",
    ]


def _sentence(counted: _Counted, output: Path) -> str:
    place = "" if str(output) == "-" else f" Written to {output}."
    if not counted.failed:
        return f"{formatting.plural(counted.read, 'page')} read.{place}"
    total = counted.read + counted.failed
    if total == 1:
        return f"The page could not be read: {counted.why}."
    pages = formatting.plural(total, "page")
    return f"{counted.read:,} of {pages} read, {counted.failed:,} failed ({counted.why}).{place}"


def _print_note(text: str, *, quiet: bool = False) -> None:
    """Print on standard error, because results go to standard output."""
    if not quiet:
        typer.echo(as_called(formatting.printable(text)), err=True)
