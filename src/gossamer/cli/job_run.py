"""`gossamer job run` and `job estimate`: read the lists, estimate, create the job."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gossamer.cli import estimates
from gossamer.cli.home import Home
from gossamer.cli.job_control import submit
from gossamer.cli.runtime import say, say_json
from gossamer.errors import UserError
from gossamer.intake.exclusions import leave_out, left_out_sentence, read_exclusions
from gossamer.intake.keywords import KeywordList, loaded_sentence, matching_sentence, read_keywords
from gossamer.intake.ladders import choose_ladder, missing_sentence
from gossamer.intake.skipped import SkippedLine, skipped_sentence, write_skipped
from gossamer.intake.submit import check_key, check_name
from gossamer.intake.targets import TargetList, processing_sentence, read_targets, removed_sentence
from gossamer.intake.textfile import STDIN
from gossamer.model.job import JobRequest
from gossamer.model.money import Cap
from gossamer.model.priority import Priority
from gossamer.questions.submitting import house_rules
from gossamer.recipes.registry import made_by


@dataclass(frozen=True, slots=True)
class InputLists:
    """The sources of a job's domains and keywords: files, standard input, single options."""

    domains: Path | None
    single_domains: Sequence[str] = ()
    exclude: Path | None = None
    keywords: Path | None = None
    single_keywords: Sequence[str] = ()
    skip_invalid: bool = False
    case_sensitive: bool = False
    plurals: bool = False

    def read(self, *, quiet: bool) -> tuple[TargetList, KeywordList]:
        """Read domains and keywords. Both are read before anything is printed: either may be refused."""
        self._check_stdin()
        targets = read_targets(self.domains, self.single_domains, skip_invalid=self.skip_invalid)
        keywords = read_keywords(
            self.keywords,
            self.single_keywords,
            skip_invalid=self.skip_invalid,
            case_sensitive=self.case_sensitive,
        )
        say(loaded_sentence(keywords, self.keywords), quiet=quiet)
        say(matching_sentence(case_sensitive=self.case_sensitive, plurals=self.plurals), quiet=quiet)
        _report_skipped(self.keywords, "keywords", keywords.skipped, quiet=quiet)
        return self._left(targets, quiet=quiet), keywords

    def read_domains(self, *, quiet: bool) -> TargetList:
        """Read the domains only."""
        self._check_stdin()
        targets = read_targets(self.domains, self.single_domains, skip_invalid=self.skip_invalid)
        return self._left(targets, quiet=quiet)

    def _left(self, targets: TargetList, *, quiet: bool) -> TargetList:
        """Leave out excluded domains and print how many remain."""
        _report_skipped(self.domains, "domains", targets.skipped, quiet=quiet)
        if self.exclude:
            listed = targets
            targets = leave_out(listed, read_exclusions(self.exclude), self.exclude)
            say(left_out_sentence(listed, targets, self.exclude), quiet=quiet)
        say(removed_sentence(targets) if targets.duplicates else processing_sentence(targets), quiet=quiet)
        return targets

    def _check_stdin(self) -> None:
        if (self.domains, self.exclude, self.keywords).count(STDIN) > 1:
            raise UserError(
                "usage.stdin", "Only one list can come from standard input.", hint="Put the other in a file."
            )


def _report_skipped(source: Path | None, subject: str, skipped: Sequence[SkippedLine], *, quiet: bool) -> None:
    if source and skipped:
        say(skipped_sentence(skipped, source, write_skipped(source, subject, skipped)), quiet=quiet)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of `job run`: the lists, the parameters of the recipe, and how to run it."""

    name: str
    lists: InputLists
    params: Mapping[str, Any]
    start: bool
    submit_key: str | None = None
    priority: Priority = Priority.NORMAL
    cap: Cap = Cap()
    at_once: int | None = None
    mode: str | None = None
    ladder: str | None = None
    probe: int | None = None  # homepages to look at first
    yes: bool = False  # start without asking


async def run_job(home: Home, given: RunOptions, *, processes: int | None, detach: bool, as_json: bool) -> int:
    """Read the lists, create the job, then run or watch it."""
    home.check()
    check_name(given.name)
    house = await home.ask(house_rules)
    rungs = choose_ladder(given.mode, given.ladder, house.rungs)
    if given.submit_key is not None:
        check_key(given.submit_key)
    targets, keywords = given.lists.read(quiet=as_json)
    params = {"keywords": list(keywords.keywords), **given.params, **rungs}
    if skipped := len(targets.skipped) + len(keywords.skipped):
        params["lines_skipped"] = skipped
    if missing := missing_sentence(rungs, house.rungs):
        say(missing, quiet=as_json)
    key = given.submit_key or ""
    cap = estimates.with_default_credits(house, given.cap)
    recipe = made_by("job run")
    recipe.read(params)
    found = await estimates.forecast(home, estimates.walk_options(recipe, params), targets, given.probe, quiet=as_json)
    said = estimates.print_forecast(found, params, cap, quiet=as_json)
    if given.start:
        estimates.confirm_cost(house, said, cap, yes=given.yes, quiet=as_json)
    sites, usual = targets.targets, house.max_credits
    request = JobRequest(
        given.name,
        recipe.name,
        params,
        sites,
        given.start,
        key,
        given.priority,
        given.cap,
        said,
        at_once=given.at_once,
        usual_credits=usual,
    )
    return await submit(home, request, processes=processes, detach=detach, as_json=as_json)


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
    targets = lists.read_domains(quiet=as_json)
    found = await estimates.forecast(
        home, estimates.walk_options(made_by("job run"), params), targets, probe, quiet=as_json
    )
    cap = estimates.with_default_credits(house, cap)
    if as_json:
        say_json(estimates.forecast_json(found, cap))
    elif estimates.print_forecast(found, params, cap, quiet=False) is None:
        say("Estimated 0 credits ($0): it asks no provider for anything")
    return 0
