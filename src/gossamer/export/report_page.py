"""The report as one page: no script, nothing fetched from anywhere, everything from outside escaped."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from typing import Any

from gossamer.export.readable import readable_host, readable_url
from gossamer.export.report_costs import costs_part
from gossamer.export.report_style import CSS
from gossamer.model.trouble import in_general
from gossamer.recipes.overview import Best, BestColumn, Counts, Overview, PageSummary

_TOP = 10
_ROW, _WIDTH, _LABELS = 26, 440, 185  # of a plot, in pixels
_LONGEST_LABEL = 22


def report_page(overview: Overview, found: PageSummary, politeness: Sequence[str], title: str = "") -> str:
    """The whole page. `politeness` are sentences about how the domains were treated."""
    title = title or overview.job.name
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="soft">{escape(found.about, quote=False)}</p>',
        _partial(overview),
        _tiles(overview, found),
        _searched(found),
        _plots(overview, found),
        _best(found.best),
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
        f"<title>{escape(title)}: {escape(found.title)}</title>\n<style>{CSS}</style>\n</head>\n<body>\n<main>\n"
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


def _tiles(overview: Overview, found: PageSummary) -> str:
    progress = overview.progress
    read = (("domains read", progress.sites_done + progress.sites_partial), ("pages read", progress.pages_done))
    tiles = (
        f'<div class="tile"><b>{count:,}</b> <span class="soft">{escape(name)}</span></div>'
        for name, count in (*found.tiles, *read)
    )
    return f'<div class="tiles">{"".join(tiles)}</div>'


def _searched(found: PageSummary) -> str:
    lines = (f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in found.searched)
    return f"<h2>What was searched</h2>\n<dl>{''.join(lines)}</dl>"


def _plots(overview: Overview, found: PageSummary) -> str:
    progress = overview.progress
    outcomes = [
        ("read", progress.sites_done, "good"),
        ("partly read", progress.sites_partial, "fair"),
        ("failed", progress.sites_failed, "bad"),
        ("not done yet", progress.sites_total - progress.sites_finished, "rule"),
    ]
    plots = [
        *((one.title, _bars(one.counts[:_TOP]) + _meanings(one)) for one in found.counts),
        ("Domains", _stack(outcomes)),
        ("Domains by pages read", _bars(overview.sizes)),
    ]
    figures = (f"<figure><figcaption>{escape(title)}</figcaption>{plot}</figure>" for title, plot in plots if plot)
    return f'<h2>What was found</h2>\n<div class="plots">{"".join(figures)}</div>'


def _meanings(one: Counts) -> str:
    lines = (f"<dt>{escape(name)}</dt><dd>{escape(meaning)}</dd>" for name, meaning in one.meanings)
    return f'<dl class="soft">{"".join(lines)}</dl>' if one.meanings else ""


def _failures(overview: Overview) -> str:
    """Return the section of failures. It comes last: readers open a report for its results."""
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


def _bars(counts: Sequence[tuple[str, int]], colour: str = "bar") -> str:
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


def _best(best: Best) -> str:
    if not best.rows:
        return f"<h2>{escape(best.title)}</h2>\n<p>{escape(best.explained)}</p>"
    head = "".join(
        f'<th class="number">{escape(one.title)}</th>'
        if one.kind in ("rank", "score", "number")
        else f"<th>{escape(one.title)}</th>"
        for one in best.columns
    )
    rows = "\n".join(
        f"<tr>{''.join(_cell(one, value) for one, value in zip(best.columns, row, strict=True))}</tr>"
        for row in best.rows
    )
    rest = f'<p class="soft">And {best.more:,} more domain{"" if best.more == 1 else "s"}.</p>' if best.more > 0 else ""
    table = f"<table><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table>"
    explained = f'<p class="soft">{escape(best.explained)}</p>'
    return f"<h2>{escape(best.title)}</h2>\n{explained}\n{table}\n{rest}"


def _cell(column: BestColumn, value: Any) -> str:
    match column.kind:
        case "rank":
            return f'<td class="number rank">{value:,}</td>'
        case "name":
            host, tag = value
            tagged = f'<span class="new">{escape(tag)}</span>' if tag else ""
            return f'<td class="name">{escape(readable_host(host))}{tagged}</td>'
        case "score":
            return f'<td class="number score">{value:.1f}</td>'
        case "mention":
            text, words, url = value
            return f'<td class="wide">{marked(text, words)}<br>{link(url)}</td>'
    label = f' data-title="{escape(column.label)}"' if column.label else ""
    return f'<td class="number"{label}>{value:,}</td>'


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
