"""`gossamer job run` and `job estimate`: read the lists, estimate, create the job."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gossamer.cli import estimates
from gossamer.cli.home import Home
from gossamer.cli.job_control import submit
from gossamer.cli.runtime import say, say_json
from gossamer.errors import UserError
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
from gossamer.model.job import JobRequest
from gossamer.model.money import Cap
from gossamer.model.registry import resolve
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
) -> int:
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
    return 0
