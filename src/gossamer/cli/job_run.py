"""Commands that create jobs: read the sites or pages given, estimate the cost, create the job, follow it.

`gossamer job estimate` stops after the estimate. Commands that are given pages print a line of JSON for each.
"""

import sys
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import UUID

import typer

from gossamer.cli import estimates, formatting, report
from gossamer.cli.group import as_called
from gossamer.cli.home import Home
from gossamer.cli.job_control import submit
from gossamer.cli.main import FAILED
from gossamer.cli.runtime import say, say_json
from gossamer.cli.screen import QuietScreen, Screen, choose_screen
from gossamer.errors import UserError
from gossamer.exports.write import write_file, write_stream
from gossamer.intake.addresses import AddressList, read_address_file, read_addresses
from gossamer.intake.ladders import choose_ladder, missing_sentence
from gossamer.intake.limits import cap_of
from gossamer.intake.submit import check_key, check_name
from gossamer.intake.targets import (
    TargetList,
    leave_out,
    left_out_sentence,
    processing_sentence,
    read_exclusions,
    read_targets,
    removed_sentence,
)
from gossamer.intake.textfile import STDIN, SkippedLine, skipped_sentence, write_skipped
from gossamer.model.ids import short
from gossamer.model.job import Job, JobRequest
from gossamer.model.money import Cap
from gossamer.model.registry import resolve
from gossamer.model.states import JobState, PageState
from gossamer.questions.found import scraped
from gossamer.questions.submitting import house_rules
from gossamer.recipes.base import Given, Recipe, Typed, typed_params
from gossamer.recipes.registry import made_by


@dataclass(frozen=True, slots=True)
class InputLists:
    """Where a job's domains are listed: a file, standard input, single options."""

    domains: Path | None
    single_domains: Sequence[str] = ()
    exclude: Path | None = None
    skip_invalid: bool = False

    def read(self) -> TargetList:
        """Read the domains as they are listed, those included that are left out afterwards."""
        return read_targets(self.domains, self.single_domains, skip_invalid=self.skip_invalid)

    def without_excluded(self, targets: TargetList, *, quiet: bool) -> TargetList:
        """The rest without the excluded ones; prints how many there are."""
        _report_skipped(self.domains, "domains", targets.skipped, quiet=quiet)
        if self.exclude:
            listed = targets
            targets = leave_out(listed, read_exclusions(self.exclude), self.exclude)
            say(left_out_sentence(listed, targets, self.exclude), quiet=quiet)
        say(removed_sentence(targets) if targets.duplicates else processing_sentence(targets), quiet=quiet)
        return targets


def _check_stdin(values: Iterable[Any]) -> None:
    if list(values).count(STDIN) > 1:
        raise UserError("usage.stdin", "Only one list can come from standard input.", hint="Put the other in a file.")


def _report_skipped(source: Path | None, subject: str, skipped: Sequence[SkippedLine], *, quiet: bool) -> None:
    if source and skipped:
        say(skipped_sentence(skipped, source, write_skipped(source, subject, skipped)), quiet=quiet)


_NO_TARGETS = TargetList((), 0, 0)


async def run_job(home: Home, recipe: Recipe, values: Mapping[str, Any]) -> int:
    """Create a job of a recipe by the values of its command's options, and work or watch it."""
    quiet = values["--json"]
    home.check()
    name = str(values["--name"])
    check_name(name)
    house = await home.ask(house_rules)
    rungs = choose_ladder(values["--mode"], values["--ladder"], house.rungs)
    key = values["--idempotency-key"]
    if key is not None:
        check_key(key)
    targets, typed = _read_lists(recipe, values, quiet=quiet)
    params = {**typed.params, **typed_params(recipe.command, values), **rungs}
    if skipped := len(targets.skipped) + typed.skipped:
        params["lines_skipped"] = skipped
    if missing := missing_sentence(rungs, house.rungs):
        say(missing, quiet=quiet)
    given = cap_of(*(values[flag] for flag in ("--max-credits", "--max-usd", "--max-mb", "--max-residential-mb")))
    cap, start = estimates.with_default_credits(house, given), not values["--no-auto-start"]
    recipe.read(params)
    walk = estimates.walk_options(recipe, params)
    found = await estimates.forecast(home, walk, targets, values.get("--probe"), quiet=quiet)
    said = estimates.print_forecast(found, params, cap, quiet=quiet)
    if start:
        estimates.confirm_cost(house, said, cap, yes=values["--yes"], quiet=quiet)
    request = JobRequest(
        name,
        recipe.name,
        params,
        targets.targets,
        start,
        key or "",
        values["--priority"],
        given,
        said,
        max_concurrency=values["--max-concurrency"],
        usual_credits=house.max_credits,
    )
    processes, detach = values["--processes"], values["--detach"]
    return await submit(home, request, processes=processes, detach=detach, as_json=quiet)


def _read_lists(recipe: Recipe, values: Mapping[str, Any], *, quiet: bool) -> tuple[TargetList, Typed]:
    """The domains, and what the recipe reads itself. All is read before anything is said, since it may be refused."""
    _check_stdin(values.values())
    lists, targets = None, _NO_TARGETS
    if recipe.given is Given.SITES:
        lists = InputLists(
            values["--domains"], values["--domain"] or (), values["--exclude-domains"], values["--skip-invalid"]
        )
        targets = lists.read()
    typed: Typed = resolve(recipe.command.read)(values) if recipe.command.read else Typed({})
    for sentence in typed.said:
        say(sentence, quiet=quiet)
    return lists.without_excluded(targets, quiet=quiet) if lists else targets, typed


async def show_estimate(
    home: Home,
    params: Mapping[str, Any],
    lists: InputLists,
    cap: Cap,
    probe: int | None,
    mode: str | None,
    ladder: str | None,
    *,
    as_json: bool,
) -> None:
    """Print the estimate of `job estimate` without creating a job."""
    house = await home.ask(house_rules)
    params = {**params, **choose_ladder(mode, ladder, house.rungs)}
    home.check()
    _check_stdin((lists.domains, lists.exclude))
    targets = lists.without_excluded(lists.read(), quiet=as_json)
    found = await estimates.forecast(
        home, estimates.walk_options(made_by("job run"), params), targets, probe, quiet=as_json
    )
    cap = estimates.with_default_credits(house, cap)
    if as_json:
        say_json(estimates.forecast_json(found, cap))
    elif estimates.print_forecast(found, params, cap, quiet=False) is None:
        say("Estimated 0 credits ($0): it asks no provider for anything")


_AT_ONCE = 50  # results in memory


async def run_pages(home: Home, recipe: Recipe, values: Mapping[str, Any]) -> int:
    """Create the job of the addresses and options that were typed, follow it, and print its results."""
    plain, detach, quiet = values["--plain"], values["--detach"], values["--json"]
    output, processes = values["--output"], values["--processes"]
    home.check()
    house = await home.ask(house_rules)
    listed = _listed(tuple(values["urls"] or ()), values["--file"])
    request = _request(recipe, values, listed, house.rungs)
    request = replace(request, cap=cap_of(values["--max-credits"], values["--max-usd"], None, None))
    if plain:
        _refuse_more_than_one(listed, request.params.get("formats") or ["markdown"])
    many = len(listed.urls) > 1
    if listed.duplicates:
        _print_note(f"Removed {formatting.plural(listed.duplicates, 'duplicate')}.", quiet=quiet)
    job = (await home.submit(replace(request, usual_credits=house.max_credits))).job
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


def _listed(urls: tuple[str, ...], file: Path | None) -> AddressList:
    if file is None:
        return read_addresses(urls)
    listed = read_address_file(file)
    return read_addresses([*urls, *listed.urls]) if urls else listed


def _request(recipe: Recipe, values: Mapping[str, Any], listed: AddressList, here: Collection[str]) -> JobRequest:
    command = recipe.command
    if command.request:
        made: JobRequest = resolve(command.request)(values, listed, here)
        return made
    params = {**typed_params(command, values), **choose_ladder(values["--mode"], values["--ladder"], here)}
    recipe.read(params)
    name = values["--name"] or f"{recipe.name.capitalize()} of {formatting.plural(len(listed.urls), 'page')}"
    return JobRequest(name, recipe.name, params, listed.targets)


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
