"""Conditions that select the results to show, as a user typed them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from shlex import quote

from gossamer.errors import UserError
from gossamer.exports.paging import Where
from gossamer.intake.domain import Refusal, clean, read_domain
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.url import site_of
from gossamer.recipes.base import Recipe, plural_form
from gossamer.recipes.registry import all_conditions


@dataclass(frozen=True, slots=True)
class Conditions:
    domain: str = ""
    values: Mapping[str, str] = field(default_factory=dict)  # as they were typed, by column
    switches: tuple[str, ...] = ()  # columns whose other option was given

    def where(self, job: Job, recipe: Recipe) -> Where:
        """The same for a job; refused if it cannot have such a row."""
        known = {one.column: one for one in (recipe.screen.conditions if recipe.screen else ())}
        given = {column: text for column, text in self.values.items() if text}
        if any(column not in known for column in (*given, *self.switches)):
            raise _refused(job, recipe)
        for column in self.switches:
            flag, value, _ = known[column].switch or ("", "", "")
            if column in given:
                raise UserError("usage", f"{flag} is --{column} {value}.", hint="Give one of them.")
            given[column] = value
        return Where(self.site(), {column: known[column].check(job, text) for column, text in given.items()})

    def options(self, recipe: Recipe) -> str:
        """Return the command-line options that repeat these conditions."""
        said = {"domain": self.domain, **self.values}
        options = "".join(f" --{name} {quote(value)}" for name, value in said.items() if value)
        conditions = recipe.screen.conditions if recipe.screen else ()
        switched = (one.switch[0] for one in conditions if one.switch and one.column in self.switches)
        return options + "".join(f" {flag}" for flag in switched)

    def site(self) -> str:
        if not self.domain:
            return ""
        domain = read_domain(clean(self.domain))
        if isinstance(domain, Refusal):
            raise UserError(
                "results.domain",
                f"{self.domain!r} is not a domain: it {domain.why}.",
                hint="For example --domain example.com.",
            )
        return site_of(domain.host)


def _refused(job: Job, recipe: Recipe) -> UserError:
    own = {one.column for one in (recipe.screen.conditions if recipe.screen else ())}
    others = [one for one in all_conditions() if one.column not in own]
    flags = [f"--{one.column}" for one in others] + [one.switch[0] for one in others if one.switch]
    return UserError(
        "results.recipe",
        f"Job {short(job.id)} is of the recipe {job.recipe}, whose results have "
        f"{' and '.join(f'no {plural_form(one.column)}' for one in others)}.",
        hint=f"Leave out {' and '.join(part for part in (', '.join(flags[:-1]), flags[-1]) if part)}.",
    )
