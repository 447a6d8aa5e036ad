"""The report as one page: no script, nothing fetched from anywhere, everything from outside escaped."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from typing import Any

from gossamer.export.overview import Overview
from gossamer.export.prospects import COLUMNS, MOST_SHOWN
from gossamer.export.readable import VERDICTS, readable_host, readable_url, verdict_words
from gossamer.export.report_costs import costs_part
from gossamer.export.report_style import CSS
from gossamer.model.ids import short
from gossamer.model.trouble import in_general

_TOP = 10
_ROW, _WIDTH, _LABELS = 26, 440, 185  # of a plot, in pixels
_LONGEST_LABEL = 22
_LONGEST_LIST = 60

Counts = Sequence[tuple[str, int]]


def report_page(overview: Overview, politeness: Sequence[str], title: str = "", client: str = "") -> str:
    """The whole page. `politeness` are sentences about how the domains were treated."""
    title = title or overview.job.name
    parts = [
        f"<h1>{escape(title)}</h1>",
        '<p class="soft">Pages that mention your keywords, and whether they link to you</p>',
        _partial(overview),
        _tiles(overview),
        _searched(overview, client),
        _plots(overview),
        _prospects(overview),
        costs_part(overview.bill),
        "<h2>How the sites were treated</h2>",
        *(f"<p>{escape(sentence)}</p>" for sentence in politeness),
        _failures(overview),
        f'<footer class="soft">Made with Gossamer on {_moment(overview.at)}.</footer>',
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="robots" content="noindex">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(title)}: prospects</title>\n<style>{CSS}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(part for part in parts if part)
        + "\n</main>\n</body>\n</html>\n"
    )


def _partial(overview: Overview) -> str:
    if not overview.is_partial:
        return ""
    done, total = overview.progress.sites_finished, overview.progress.sites_total
    return (
        f'<p class="partial"><b>Partial.</b> The job is {overview.job.state}: {done:,} of {total:,} domains are done. '
        "These are the results so far.</p>"
    )


def _tiles(overview: Overview) -> str:
    facts = {
        "prospects": overview.ranking.unlinked,
        "matches": overview.matches,
        "domains with matches": overview.domains,
        "domains read": overview.progress.sites_done + overview.progress.sites_partial,
        "pages read": overview.progress.pages_done,
    }
    tiles = (
        f'<div class="tile"><b>{count:,}</b> <span class="soft">{name}</span></div>' for name, count in facts.items()
    )
    return f'<div class="tiles">{"".join(tiles)}</div>'


def _searched(overview: Overview, client: str) -> str:
    params, keywords = overview.job.params, overview.wanted_keywords
    facts = {
        "Client": overview.named_client(client) or "none given",
        "Competitors": ", ".join(params.get("competitor_domains") or []),
        "Domains": f"{overview.progress.sites_total:,}",
        "Left out on request": f"{overview.excluded:,}" if overview.excluded else "",
        "Keywords": _named(keywords),
        "Searched": f"{_moment(overview.job.started_at)} to {_moment(overview.job.finished_at) or 'now'}",
        "Compared with": overview.since.name if overview.since else "",
        "Job": short(overview.job.id),
    }
    lines = (f"<dt>{name}</dt><dd>{escape(value)}</dd>" for name, value in facts.items() if value)
    return f"<h2>What was searched</h2>\n<dl>{''.join(lines)}</dl>"


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LONGEST_LIST:,} more" if len(names) > _LONGEST_LIST else ""
    return ", ".join(names[:_LONGEST_LIST]) + more


def _plots(overview: Overview) -> str:
    progress = overview.progress
    outcomes = [
        ("read", progress.sites_done, "good"),
        ("partly read", progress.sites_partial, "fair"),
        ("failed", progress.sites_failed, "bad"),
        ("not done yet", progress.sites_total - progress.sites_finished, "rule"),
    ]
    verdicts = [(verdict_words(name), count) for name, count in overview.verdicts] if overview.clients else []
    plots = [
        ("Matches by verdict", _bars(verdicts) + _meanings(overview)),
        ("Matches by keyword", _bars(overview.keywords[:_TOP])),
        ("Domains", _stack(outcomes)),
        ("Domains by pages read", _bars(overview.sizes)),
    ]
    figures = (f"<figure><figcaption>{title}</figcaption>{plot}</figure>" for title, plot in plots if plot)
    return f'<h2>What was found</h2>\n<div class="plots">{"".join(figures)}</div>'


def _meanings(overview: Overview) -> str:
    """What the verdicts that occur mean."""
    if not overview.clients:
        return ""
    met = [VERDICTS[name] for name, _ in overview.verdicts if name in VERDICTS]
    lines = (f"<dt>{escape(name)}</dt><dd>{escape(meaning)}</dd>" for name, meaning in met)
    return f'<dl class="soft">{"".join(lines)}</dl>' if met else ""


def _failures(overview: Overview) -> str:
    """Last: nobody opens a report for what was not found."""
    reasons = [(in_general(reason), count) for reason, count in overview.reasons[:_TOP]]
    if not reasons:
        return ""
    plot = f"<figure><figcaption>Why domains failed</figcaption>{_bars(reasons, 'bad')}</figure>"
    return f'<h2>What could not be read</h2>\n<div class="plots">{plot}</div>\n{_failed(overview)}'


def _failed(overview: Overview) -> str:
    """The domains that failed, each with its reason."""
    if not overview.failed:
        return ""
    named = ((readable_host(host), in_general(why) if why else "unknown") for host, why in overview.failed)
    lines = "".join(f"<li>{escape(host)}: {escape(why)}</li>" for host, why in named)
    more = overview.progress.sites_failed - len(overview.failed)
    return f"<ul>{lines}</ul>" + (f'<p class="soft">And {more:,} more.</p>' if more > 0 else "")


def _bars(counts: Counts, colour: str = "bar") -> str:
    """One bar a line, the longest over the whole width."""
    if not counts:
        return ""
    most, room = max(1, *(count for _, count in counts)), _WIDTH - _LABELS - 60
    lines = []
    for number, (name, count) in enumerate(counts):
        top = number * _ROW
        label = name if len(name) <= _LONGEST_LABEL else name[: _LONGEST_LABEL - 1] + "…"
        length = max(1 if count else 0, round(room * count / most))
        lines.append(
            f"<g><title>{escape(name)}: {count:,}</title>"
            f'<text x="{_LABELS - 8}" y="{top + 17}" text-anchor="end">{escape(label)}</text>'
            f'<rect x="{_LABELS}" y="{top + 4}" width="{length}" height="{_ROW - 8}" rx="2" fill="var(--{colour})"/>'
            f'<text class="count" x="{_LABELS + length + 6}" y="{top + 17}">{count:,}</text></g>'
        )
    return f'<svg viewBox="0 0 {_WIDTH} {len(counts) * _ROW}" role="img">{"".join(lines)}</svg>'


def _stack(outcomes: Sequence[tuple[str, int, str]]) -> str:
    """One bar of several parts, and what they are."""
    total = sum(count for _, count, _ in outcomes)
    if not total:
        return ""
    parts, names, at = list[str](), list[str](), 0.0
    for name, count, colour in outcomes:
        if count:
            width = _WIDTH * count / total
            parts.append(f'<rect x="{at:.1f}" y="0" width="{width:.1f}" height="22" fill="var(--{colour})"/>')
            y = 44 + _ROW * len(names)
            names.append(
                f'<rect x="0" y="{y - 11}" width="12" height="12" fill="var(--{colour})"/>'
                f'<text x="20" y="{y}">{name}</text><text class="count" x="{_LABELS}" y="{y}">{count:,}</text>'
            )
            at += width
    height = 34 + _ROW * len(names)
    return f'<svg viewBox="0 0 {_WIDTH} {height}" role="img">{"".join(parts + names)}</svg>'


def _prospects(overview: Overview) -> str:
    names = [column.name for column in COLUMNS]
    best = [dict(zip(names, line, strict=True)) for line in overview.ranking.best(MOST_SHOWN)]
    if not best:
        return "<h2>Prospects</h2>\n<p>No page mentions a keyword" + (" yet.</p>" if overview.is_partial else ".</p>")
    # Without a client there is nobody who could be linked already.
    pages = "Unlinked pages" if overview.clients else "Pages"
    head = f'<th class="number">#</th><th>Domain</th><th class="number">Score</th><th class="number">{pages}</th>'
    head += '<th class="number">Keywords</th><th>Best mention</th>'
    rows = "\n".join(_prospect(one, pages.lower()) for one in best)
    more = overview.ranking.domains - len(best)
    rest = f'<p class="soft">And {more:,} more domain{"" if more == 1 else "s"}.</p>' if more > 0 else ""
    table = f"<table><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table>"
    return f"<h2>The best prospects</h2>\n{_explained(overview)}\n{table}\n{rest}"


def _explained(overview: Overview) -> str:
    """What a prospect and its score are."""
    what = "mentions a keyword and does not link to you" if overview.clients else "mentions a keyword"
    return (
        f'<p class="soft">A prospect is a domain with a page that {what}. The score, from 0 to 100, is the sum of '
        "points for what was seen on the pages: unlinked mentions, keywords, pages, freshness and links to other "
        "sites, less nofollow and pages that failed.</p>"
    )


def _prospect(one: dict[str, Any], pages: str) -> str:
    new = '<span class="new">new</span>' if one["new"] == "yes" else ""
    domain = escape(readable_host(one["domain"]))
    return (
        f'<tr><td class="number rank">{one["rank"]:,}</td><td class="name">{domain}{new}</td>'
        f'<td class="number score">{one["score"]:.1f}</td>'
        f'<td class="number" data-title="{pages}">{one["unlinked_pages"]:,}</td>'
        f'<td class="number" data-title="keywords">{one["keywords"]:,}</td>'
        f'<td class="wide">{marked(one["best_snippet"], one["best_keyword"])}<br>{link(one["best_page"])}</td></tr>'
    )


def marked(text: str, keyword: str) -> str:
    """Text with its keyword marked, escaped."""
    if not keyword:
        return escape(text)
    found = list(re.finditer(re.escape(keyword), text, re.IGNORECASE))
    made, at = [], 0
    for one in found:
        made.append(f"{escape(text[at : one.start()])}<mark>{escape(one[0])}</mark>")
        at = one.end()
    return "".join(made) + escape(text[at:])


def link(url: str) -> str:
    """A link to an address of the web; any other is only text."""
    if not url.startswith(("http://", "https://")):
        return escape(url)
    return f'<a href="{escape(url)}" rel="noopener noreferrer nofollow">{escape(readable_url(url))}</a>'


def _moment(at: datetime | None) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if at else ""
