"""The tables of a prospecting job."""

from gossamer.errors import UserError
from gossamer.model.job import Job
from gossamer.recipes.base import Book, BookSheet, Table
from gossamer.recipes.prospect import MATCH, matches, ranking
from gossamer.recipes.prospect.survey import ProspectSurvey
from gossamer.recipes.prospect.verdicts import UNLINKED, no_client
from gossamer.recipes.tables import COSTS, ERRORS, PAGES

_RESULTS, _PROSPECTS = "results", "prospects"


def _refuse(only: str, job: Job, since: Job | None) -> UserError | None:
    """Return the error for a filter whose client domain or earlier job is missing."""
    if only == UNLINKED and not job.params.get("client_domains"):
        return no_client(job)
    if only == ranking.NEW and since is None:
        return UserError(
            "export.since", "The filter 'new' needs an earlier job to compare with.", hint="Name one with --since-job."
        )
    return None


_BOOK = Book(
    ProspectSurvey,
    BookSheet(_RESULTS, "Matches", MATCH.columns),
    BookSheet(_PROSPECTS, "Prospects", ranking.COLUMNS, frozen=2, colour="#2F855A", only_compared=("new",)),
    filtered_by="verdict",
)

RESULTS = Table(
    _RESULTS,
    columns=MATCH.columns,
    lines=matches.lines,
    count=matches.count,
    client_param="client_domains",
    nested=("domain", "keyword"),
    renamed={"context_snippet": "context"},
    filters=(UNLINKED,),
    refuse=_refuse,
    book=_BOOK,
    noun="match",
)

PROSPECTS = Table(
    _PROSPECTS,
    columns=ranking.COLUMNS,
    lines=ranking.lines,
    count=ranking.count,
    filters=(UNLINKED, ranking.NEW),
    refuse=_refuse,
    book=_BOOK,
)

TABLES = (RESULTS, PROSPECTS, ERRORS, PAGES, COSTS)
