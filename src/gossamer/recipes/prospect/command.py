"""What is typed of prospecting jobs, and what a terminal shows of them, as data."""

from collections.abc import Mapping
from typing import Any

from gossamer.errors import UserError
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.recipes.base import Command, Condition, Option, Screen, ScreenColumn
from gossamer.recipes.prospect.verdicts import UNLINKED, VERDICTS, no_client

COMMAND = Command(
    ("job", "run"),
    "Find the pages of many domains that mention your keywords, and whether they link to your client.",
    options=(
        Option("--keyword", "keywords", "A word or phrase.", repeated=True),
        Option("--client-domain", "client_domains", "Whose links to look for.", repeated=True),
        Option("--competitor-domain", "competitor_domains", "A rival of the client.", repeated=True),
    ),
)

_MOST_NAMED = 10  # keywords


def _keyword(job: Job, text: str) -> str:
    """As the job spells it."""
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
            switch=("--unlinked-only", UNLINKED, "Only mentions for which nobody is linked."),
        ),
    ),
    last="flags",
    line=_line,
)
