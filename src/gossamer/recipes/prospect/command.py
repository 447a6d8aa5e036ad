"""Command-line options of prospecting jobs, and their terminal output, as data."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gossamer.errors import UserError
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.recipes.base import Command, Condition, Option, Screen, ScreenColumn
from gossamer.recipes.prospect.verdicts import UNLINKED, VERDICTS, no_client

COMMAND = Command(
    ("job", "run"),
    """Find the pages of many domains that mention your keywords, and whether they link to your client.

    Examples:

    \b
        gossamer job run --name "Acme Q1" --domains domains.csv --keywords keywords.txt
        gossamer job run --name "Acme Q1" --domains domains.csv --keywords keywords.txt --client-domain acme.com
        gossamer job run --name "A look" --domain example.com --keyword CRM --keyword "sales pipeline"

    Where it may cost something, an estimate is shown first. Ctrl-C pauses; 'gossamer job resume ID' goes on exactly
    there.
    """,
    read="gossamer.recipes.prospect.lists:read_lists",
    options=(
        Option(
            "--keywords",
            "TXT, one word or phrase per line, CSV or an Excel workbook; '-' reads standard input.",
            type=Path,
            metavar="FILE",
        ),
        Option(
            "--keyword",
            "A word or phrase, or several separated by commas (double quotes keep one together). May be repeated.",
            metavar="WORD",
            repeated=True,
        ),
        "--skip-invalid",
        Option("--case-sensitive", "Capitals count: IT is not it.", "case_sensitive", bool, default=False),
        Option(
            "--plurals",
            "Plurals of a keyword count as it (English): 'lamp' is found in 'lamps'.",
            "plurals",
            bool,
            default=False,
        ),
        Option(
            "--snippet",
            "Characters shown before and after a mention, at most. 150 if not given.",
            "snippet",
            int,
            metavar="N",
            least=0,
            most=150,
        ),
        Option(
            "--client-domain",
            "Whose links to look for. May be given several times.",
            "client_domains",
            metavar="DOMAIN",
            repeated=True,
        ),
        Option(
            "--competitor-domain",
            "A rival of the client. May be given several times.",
            "competitor_domains",
            metavar="DOMAIN",
            repeated=True,
        ),
        "--exclude-domains",
        Option(
            "--max-pages-per-domain",
            "Larger domains are not read whole.",
            "max_pages_per_domain",
            int,
            500,
            least=1,
            most=50_000,
        ),
        Option("--top-pages", "Pages read of a domain larger than that.", "top_pages", int, 50, least=1, most=50_000),
        Option("--depth", "Links followed from the homepage at most.", "depth", int, 50, least=0, most=1000),
        Option(
            "--include",
            "Read only such pages, like '/blog/*', and the homepage, which always is. May be given several times.",
            "include",
            metavar="PATTERN",
            repeated=True,
        ),
        Option(
            "--exclude",
            "Read no such pages, like '*/tag/*'. May be given several times.",
            "exclude",
            metavar="PATTERN",
            repeated=True,
        ),
    ),
)

_MOST_NAMED = 10  # keywords


def _keyword(job: Job, text: str) -> str:
    """Return the keyword as the job spells it."""
    known: list[str] = list(job.params.get("keywords") or [])
    same = [keyword for keyword in known if keyword.casefold() == " ".join(text.split()).casefold()]
    if not same:
        named = ", ".join(known[:_MOST_NAMED]) + (" and others" if len(known) > _MOST_NAMED else "")
        raise UserError("results.keyword", f"Job {short(job.id)} has no keyword {text!r}.", hint=f"It has {named}.")
    return same[0]


def _verdict(job: Job, text: str) -> str:
    if text not in VERDICTS:
        raise UserError("results.verdict", f"{text!r} is no verdict.", hint=f"Use one of {', '.join(VERDICTS)}.")
    if not job.params.get("client_domains"):
        raise no_client(job)
    return text


def _line(row: Mapping[str, Any]) -> tuple[str, str, str]:
    keyword, times = str(row.get("keyword") or ""), row.get("frequency")
    facts = [f"{times:,} time{'' if times == 1 else 's'}" if isinstance(times, int) else ""]
    facts += [str(row.get("position") or ""), str(row.get("verdict") or "")]
    return f"{keyword}: {', '.join(fact for fact in facts if fact)}", str(row.get("context_snippet") or ""), keyword


SCREEN = Screen(
    columns=(
        ScreenColumn("Domain", ("domain",), 28, 12),
        ScreenColumn("Page", ("url",), 30, 8, path_only=True),
        ScreenColumn("Keyword", ("keyword",), 24, 8),
        ScreenColumn("Times", ("frequency",), 6, 5, right=True, counted=True),
        ScreenColumn("Verdict", ("verdict",), 15, 15, if_any=True),
        # On fewer columns the others would be wider than the terminal.
        ScreenColumn("Flags", ("flags",), 20, 13, in_words=True, if_any=True, room=72),
    ),
    context=("context_snippet", "keyword"),
    conditions=(
        Condition("keyword", "Only those of this keyword.", _keyword, "KEYWORD"),
        Condition(
            "verdict",
            "Only those with this verdict.",
            _verdict,
            "|".join(VERDICTS),
            switch=("--unlinked-only", UNLINKED, "Only mentions without a link."),
        ),
    ),
    last="flags",
    line=_line,
)
