"""Which results somebody wants to see, as it was typed."""

from dataclasses import dataclass
from shlex import quote

from gossamer.errors import UserError
from gossamer.export.overview import VERDICTS
from gossamer.export.paging import Where
from gossamer.intake.domain import Refusal, clean, read_domain
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.url import site_of

_MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class Conditions:
    domain: str = ""
    keyword: str = ""
    verdict: str = ""
    unlinked_only: bool = False

    def where(self, job: Job) -> Where:
        """The same for a job; refused if it cannot have such a row."""
        if self.unlinked_only and self.verdict:
            raise UserError("usage", "--unlinked-only is --verdict unlinked.", hint="Give one of them.")
        verdict = "unlinked" if self.unlinked_only else self.verdict
        return Where(self.site(), _keyword(job, self.keyword), _verdict(job, verdict))

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
