"""One pass over all matches of a job: ranked and counted for the summary, the report and the workbook."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any

from gossamer.db.database import Database
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.recipes.base import Also, Column, Line, Lines, TableQuery
from gossamer.recipes.overview import (
    Best,
    BestColumn,
    Fact,
    FrequencyTable,
    FrontSheet,
    Overview,
    PageSummary,
    ScreenSummary,
    ScreenTable,
    SummaryAnswer,
    read_overview,
)
from gossamer.recipes.prospect import MATCH, matches
from gossamer.recipes.prospect.ranking import COLUMNS, MOST_SHOWN, Ranking
from gossamer.recipes.prospect.scoring import EVIDENCE
from gossamer.recipes.prospect.verdicts import VERDICTS, verdict_words

# Everything of a match that any part of a report needs, its own columns first.
_WIDE = MATCH.columns + tuple(column for column in EVIDENCE if column not in MATCH.columns)
_NAMES = [column.name for column in _WIDE]
_EVIDENCE_OF: Callable[[Line], Line] = itemgetter(*(_WIDE.index(column) for column in EVIDENCE))
_KEYWORD, _VERDICT = map(_NAMES.index, ("keyword", "verdict"))

_RANKED = [column.name for column in COLUMNS]
_ON_SCREEN, _IN_ANSWER = 5, 10  # of the best
_NAMED_ON_PAGE = 60  # keywords
_LONGEST_LIST = 400  # characters, on the first sheet
_ABOUT = "Pages that mention your keywords, and whether they link to you"
_SHOWN = {"score": ".1f", "unlinked_pages": ",", "keywords": ","}


class ProspectSurvey:
    """The matches of one job; `asked.only` is about the ranking, the others are all."""

    def __init__(self, database: Database, asked: TableQuery) -> None:
        self._database = database
        self._asked = asked
        self._ranking = Ranking(database, asked.job, asked.since, asked.only)
        self._matches = 0  # that were read: a job at work has more by now
        self._verdicts: Counter[str] = Counter()
        self._keywords: Counter[str] = Counter(dict.fromkeys(self._wanted_keywords, 0))  # also those without matches
        self._overview: Overview | None = None

    async def read(self, also: Also | None = None) -> Overview:
        asked = self._asked
        async for some in matches.lines(self._database, replace(asked, columns=_WIDE, only="", order=())):
            self._matches += len(some)
            self._verdicts.update(str(line[_VERDICT]) for line in some)
            self._keywords.update(str(line[_KEYWORD]) for line in some)
            await self._ranking.take([_EVIDENCE_OF(line) for line in some])
            if also:
                await also([line[: len(MATCH.columns)] for line in some])
            if asked.told:
                asked.told(self._ranking.domains_met)
        await self._ranking.close()
        self._overview = await read_overview(self._database, asked)
        return self._overview

    def ranked(self, columns: tuple[Column, ...]) -> Lines:
        return self._ranking.lines(columns)

    @property
    def ranked_count(self) -> int:
        return self._ranking.domains

    def screen(self) -> ScreenSummary:
        progress = self._known.progress
        searched = f"{_several(progress.sites_total, 'domain')}, {_several(len(self._wanted_keywords), 'keyword')}"
        searched += (f", for {', '.join(self._clients)}" if self._clients else "") + _skipped(self._asked.job)
        # Without a client no mention can be linked already.
        mentions = "unlinked mentions" if self._clients else "mentions"
        found = (
            f"{self._matches:,} on {_several(self._ranking.domains_met, 'domain')}; "
            f"{_several(self._ranking.unlinked, 'prospect')} with {mentions}"
        )
        verdicts = FrequencyTable("Matches by verdict", self._by_verdict if self._clients else ())
        return ScreenSummary(
            searched,
            ("Matches", found),
            (verdicts, FrequencyTable("Matches by keyword", self._by_keyword)),
            self._on_screen(),
        )

    def _on_screen(self) -> ScreenTable | None:
        best = self._best(_ON_SCREEN)
        if not best:
            return None
        return ScreenTable(
            ("Best prospects", "Score", "Unlinked" if self._clients else "Mentions", "Keywords", "Best page"),
            tuple(
                (
                    str(one["domain"]),
                    *(f"{one[name]:{form}}" for name, form in _SHOWN.items()),
                    str(one["best_page"]),
                )
                for one in best
            ),
            (40, 5, 8, 8, 60),
            (14, 5, 8, 8, 9),
        )

    def page(self, client: str = "") -> PageSummary:
        job, progress = self._asked.job, self._known.progress
        searched = {
            "Client": self._named_client(client) or "none given",
            "Competitors": ", ".join(job.params.get("competitor_domains") or []),
            "Domains": f"{progress.sites_total:,}",
            "Left out on request": f"{self._known.excluded:,}" if self._known.excluded else "",
            "Keywords": _first(self._wanted_keywords, _NAMED_ON_PAGE),
            "Searched": f"{_moment(job.started_at)} to {_moment(job.finished_at) or 'now'}",
            "Compared with": self._asked.since.name if self._asked.since else "",
            "Job": short(job.id),
        }
        met = [VERDICTS[name] for name, _ in self._by_verdict if name in VERDICTS] if self._clients else []
        return PageSummary(
            about=_ABOUT,
            title="prospects",
            tiles=(
                ("prospects", self._ranking.unlinked),
                ("matches", self._matches),
                ("domains with matches", self._ranking.domains_met),
            ),
            searched=tuple((label, value) for label, value in searched.items() if value),
            counts=(
                FrequencyTable("Matches by verdict", self._verdicts_in_words(), tuple(met)),
                FrequencyTable("Matches by keyword", self._by_keyword),
            ),
            best=self._on_page(),
        )

    def _on_page(self) -> Best:
        best = self._best(MOST_SHOWN)
        if not best:
            return Best("Prospects", "No page mentions a keyword" + (" yet." if self._known.is_partial else "."))
        what = "mentions a keyword and does not link to you" if self._clients else "mentions a keyword"
        pages = "Unlinked pages" if self._clients else "Pages"
        return Best(
            "The best prospects",
            f"A prospect is a domain with a page that {what}. The score, from 0 to 100, is the sum of "
            "points for what was seen on the pages: unlinked mentions, keywords, pages, freshness and links to other "
            "sites, less nofollow and pages that failed.",
            (
                BestColumn("#", "rank"),
                BestColumn("Domain", "name"),
                BestColumn("Score", "score"),
                BestColumn(pages, label=pages.lower()),
                BestColumn("Keywords", label="keywords"),
                BestColumn("Best mention", "mention"),
            ),
            tuple(
                (
                    one["rank"],
                    (one["domain"], "new" if one["new"] == "yes" else ""),
                    one["score"],
                    one["unlinked_pages"],
                    one["keywords"],
                    (one["best_snippet"], one["best_keyword"], one["best_page"]),
                )
                for one in best
            ),
            self._ranking.domains - len(best),
        )

    def front(self, client: str = "", only: str = "") -> FrontSheet:
        job, progress, keywords = self._asked.job, self._known.progress, self._wanted_keywords
        params, excluded, since = job.params, self._known.excluded, self._asked.since
        searched: dict[str, Fact | None] = {
            "Client": self._named_client(client) or "none given",
            "Competitors": _listed(params.get("competitor_domains") or []),
            "Domains": f"{progress.sites_total:,}",
            "Left out on request": _several(excluded, "domain") if excluded else "",
            "Keywords": f"{len(keywords):,}: {_listed(keywords)}" if keywords else "",
            "Pages of a domain": _limits(params),
            "Only addresses like": _listed(params.get("include") or []),
            "No addresses like": _listed(params.get("exclude") or []),
            "Started (UTC)": job.started_at,
            "Finished (UTC)": job.finished_at,
            "Compared with": f"{since.name} ({short(since.id)})" if since else "",
            "Job": str(job.id),
        }
        counts = (
            FrequencyTable("Matches by verdict", self._verdicts_in_words()),
            FrequencyTable("Matches by keyword", self._by_keyword),
        )
        notes = [
            "Prospects: one line per domain, the most promising first. The score is the sum of the points beside it, "
            "made only of what was seen on the pages.",
            "Matches: one line per page and keyword" + (f', only "{verdict_words(only)}".' if only else "."),
        ]
        if self._clients:
            notes += [f"{name}: {meaning}." for name, meaning in VERDICTS.values()]
        return FrontSheet(
            about=_ABOUT,
            searched=tuple((label, value) for label, value in searched.items() if value),
            found=(
                (f"Prospects with {'unlinked ' if self._clients else ''}mentions", self._ranking.unlinked),
                ("Domains with matches", self._ranking.domains_met),
                ("Matches", self._matches),
            ),
            counts=counts,
            notes=tuple(notes),
            chart="Best prospects by score",
        )

    def answer(self) -> SummaryAnswer:
        return SummaryAnswer(
            asked={
                "client_domains": self._clients,
                "keywords": len(self._wanted_keywords),
                "lines_skipped": _lines_skipped(self._asked.job),
            },
            domains={
                "with_matches": self._ranking.domains_met,
                "with_unlinked_mentions": self._ranking.unlinked,
            },
            found={
                "matches": self._matches,
                "matches_by_verdict": dict(self._by_verdict),
                "matches_by_keyword": dict(self._by_keyword),
            },
            best={"prospects": self._best(_IN_ANSWER)},
        )

    @property
    def _known(self) -> Overview:
        if self._overview is None:
            raise RuntimeError("nothing was read yet")
        return self._overview

    @property
    def _clients(self) -> list[str]:
        return list(self._asked.job.params.get("client_domains") or [])

    @property
    def _wanted_keywords(self) -> list[str]:
        return list(self._asked.job.params.get("keywords") or [])

    @property
    def _by_verdict(self) -> tuple[tuple[str, int], ...]:
        """The most promising first."""
        return tuple((name, self._verdicts[name]) for name in VERDICTS if self._verdicts[name])

    @property
    def _by_keyword(self) -> tuple[tuple[str, int], ...]:
        """Most matches first."""
        return tuple(sorted(self._keywords.items(), key=lambda one: (-one[1], one[0])))

    def _verdicts_in_words(self) -> tuple[tuple[str, int], ...]:
        return tuple((verdict_words(name), count) for name, count in self._by_verdict) if self._clients else ()

    def _named_client(self, name: str) -> str:
        """The client by name with their domains, as far as there is either."""
        domains = ", ".join(self._clients)
        return f"{name} ({domains})" if name and domains else name or domains

    def _best(self, most: int) -> list[dict[str, Any]]:
        return [dict(zip(_RANKED, line, strict=True)) for line in self._ranking.best(most)]


def _several(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def _lines_skipped(job: Job) -> int:
    return int(job.params.get("lines_skipped", 0))


def _skipped(job: Job) -> str:
    skipped = _lines_skipped(job)
    return f"; {_several(skipped, 'invalid line')} of the lists skipped" if skipped else ""


def _first(names: Sequence[str], most: int) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _limits(params: Mapping[str, Any]) -> str:
    most, top = params.get("max_pages_per_domain"), params.get("top_pages")
    return f"up to {most:,}; of larger domains the {top:,} most linked" if most and top else ""


def _listed(names: Sequence[str]) -> str:
    text = ", ".join(names)
    if len(text) <= _LONGEST_LIST:
        return text
    kept = text[:_LONGEST_LIST].rpartition(", ")[0]
    return f"{kept} and {len(names) - kept.count(', ') - 1:,} more"


def _moment(at: datetime | None) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if at else ""
