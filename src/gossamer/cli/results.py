"""`gossamer job results`: a job's matches on the screen, a page at a time."""

from dataclasses import dataclass
from shlex import quote

from gossamer.assembly import App
from gossamer.cli import kept, match_table, tables, words
from gossamer.cli.known import recipe_of
from gossamer.cli.scraped_table import show_scraped
from gossamer.cli.session import say, say_json
from gossamer.errors import UserError
from gossamer.export.overview import VERDICTS
from gossamer.export.paging import Page, Where, read_page
from gossamer.intake.control import find_job
from gossamer.intake.domain import Refusal, clean, read_domain
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.states import OVER
from gossamer.model.url import site_of
from gossamer.store import counters

_MOST_NAMED = 10
_MOST_COUNTED = 10_000  # results that are read to say how many there are


@dataclass(frozen=True, slots=True)
class Conditions:
    """What was typed."""

    domain: str = ""
    keyword: str = ""
    verdict: str = ""
    unlinked_only: bool = False

    def where(self, job: Job) -> Where:
        """The same for a job; refused if it cannot have such a row."""
        if self.unlinked_only and self.verdict:
            raise UserError("usage", "--unlinked-only is --verdict unlinked.", hint="Give one of them.")
        verdict = "unlinked" if self.unlinked_only else self.verdict
        return Where(_domain(self.domain), _keyword(job, self.keyword), _verdict(job, verdict))

    def refuse_of_matches(self, job: Job) -> None:
        """A job without keywords has neither mentions nor verdicts."""
        if self.keyword or self.verdict or self.unlinked_only:
            raise UserError(
                "results.recipe",
                f"Job {short(job.id)} is of the recipe {job.recipe}, whose results have no keywords and no verdicts.",
                hint="Leave out --keyword, --verdict and --unlinked-only.",
            )

    def options(self) -> str:
        """How to ask for the same again."""
        said = {"domain": self.domain, "keyword": self.keyword, "verdict": self.verdict}
        options = "".join(f" --{name} {quote(value)}" for name, value in said.items() if value)
        return options + (" --unlinked-only" if self.unlinked_only else "")


async def show_results(app: App, text: str, conditions: Conditions, page: int, limit: int, *, as_json: bool) -> int:
    job = await find_job(app.database, text)
    await kept.refuse_gone(app, job)
    recipe_of(app, job)
    if words.is_of_pages(job):
        conditions.refuse_of_matches(job)
        return await show_scraped(app, job, _domain(conditions.domain), page, limit, as_json=as_json)
    where = conditions.where(job)
    found = await read_page(app.database, job, where, page, limit)
    if as_json:
        say_json(found.rows)
        return 0
    if not found.rows:
        say(await _nothing(app, job, where, page, limit))
        return 0
    tables.show(match_table.matches(found.rows, tables.width()))
    total = (await app.database.read(counters.progress, job.id)).records
    for line in _below(job, conditions, where, found, page, limit, total):
        say(line)
    return 0


async def _nothing(app: App, job: Job, where: Where, page: int, limit: int) -> str:
    such = "such " if where else ""
    if page > 1:
        found = await read_page(app.database, job, where, 1, min(limit * (page - 1), _MOST_COUNTED))
        if found.rows:
            count = f"{'' if found.is_last else 'more than '}{len(found.rows):,} {such}match"
            several = "" if len(found.rows) == 1 else "es"
            return f"There is no page {page:,}: the job has {count}{several}, {limit:,} a page."
    return f"No {such}matches" + (" yet." if job.state not in OVER else ".")


def _below(job: Job, conditions: Conditions, where: Where, found: Page, page: int, limit: int, total: int) -> list[str]:
    """Which these are, how to see more, and how to have all."""
    first = (page - 1) * limit + 1
    last = first + len(found.rows) - 1
    of_all = f" of {total:,}" if not where else f", and that is all of {'them' if page > 1 else 'such'}" * found.is_last
    lines = [f"Matches {first:,} to {last:,}{of_all}."]
    if not found.is_last:
        again = f"gossamer job results {short(job.id)}{conditions.options()} --limit {limit} --page {page + 1}"
        lines += ["Next:", f"  {again}"]
    return [*lines, *_file(job, where)]


def _file(job: Job, where: Where) -> list[str]:
    """How to have them in a file, and what else is in it then: export knows fewer conditions."""
    unlinked = where.verdict == "unlinked"
    more = {"domains": where.domain, "keywords": where.keyword, "verdicts": where.verdict and not unlinked}
    others = " and ".join(name for name, is_given in more.items() if is_given)
    which = "All unlinked ones" if unlinked else "All"
    said = f"{which} in a file" + (f", those of other {others} too" if others else "")
    only = " --filter unlinked" if unlinked else ""
    return [f"{said}:", f"  gossamer job export {short(job.id)}{only} --output results.csv"]


def _domain(text: str) -> str:
    if not text:
        return ""
    domain = read_domain(clean(text))
    if isinstance(domain, Refusal):
        raise UserError(
            "results.domain", f"{text!r} is not a domain: it {domain.why}.", hint="For example --domain example.com."
        )
    return site_of(domain.host)


def _keyword(job: Job, text: str) -> str:
    """As the job spells it."""
    known: list[str] = list(job.params.get("keywords") or [])
    if not text:
        return ""
    same = [keyword for keyword in known if keyword.casefold() == " ".join(text.split()).casefold()]
    if not same:
        named = ", ".join(known[:_MOST_NAMED]) + (" and others" if len(known) > _MOST_NAMED else "")
        raise UserError("results.keyword", f"Job {short(job.id)} has no keyword {text!r}.", hint=f"It has {named}.")
    return same[0]


def _verdict(job: Job, text: str) -> str:
    if not text:
        return ""
    if text not in VERDICTS:
        raise UserError("results.verdict", f"{text!r} is no verdict.", hint=f"Use one of {', '.join(VERDICTS)}.")
    if not job.params.get("client_domains"):
        raise UserError(
            "results.no_client",
            f"Job {short(job.id)} was run without a client's domain, so it does not know who links to it.",
            hint="Run it again with --client-domain.",
        )
    return text
