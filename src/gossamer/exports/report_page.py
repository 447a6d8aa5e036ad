"""The report as one page: no script, nothing fetched from anywhere, everything from outside escaped."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from typing import Any

from gossamer.billing.bill import (
    Bill,
    Method,
    assumed_sentence,
    percent,
    rendering_sentences,
    saved_words,
    used_sentences,
)
from gossamer.exports.readable import readable_host, readable_url
from gossamer.model.money import dollars
from gossamer.model.rungs import label_of
from gossamer.model.trouble import in_general
from gossamer.recipes.overview import Best, BestColumn, FrequencyTable, Overview, PageSummary

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


def _meanings(one: FrequencyTable) -> str:
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


_HEAD = (
    '<th>Method</th><th class="number">Pages</th><th class="number">Share of pages</th>'
    '<th class="number">Credits</th><th class="number">Cost</th><th class="number">Share of cost</th>'
)


def costs_part(bill: Bill | None) -> str:
    """Return the section of costs; empty for a job that could not cost anything."""
    if bill is None or not bill.could_cost:
        return ""
    said = used_sentences(bill) or ["No provider was paid: every page was read for free."]
    if bill.saving:
        said.append(f"Saved: {saved_words(bill.saving)}")
    said += [sentence for sentence in (assumed_sentence(bill),) if sentence]
    paragraphs = "".join(f"<p>{escape(sentence)}</p>" for sentence in said)
    return f"<h2>What it cost</h2>\n{paragraphs}\n{_table(bill)}\n{_rendered(bill)}"


def _table(bill: Bill) -> str:
    if not bill.methods:
        return ""
    rows = "\n".join(_row(one, bill) for one in bill.methods)
    total = _cells("In all", bill.pages, 1.0 if bill.pages else 0.0, bill.spent.credits, bill.spent.micros, None)
    return (
        f'<table class="costs"><thead><tr>{_HEAD}</tr></thead>\n<tbody>{rows}</tbody>\n'
        f"<tfoot><tr>{total}</tr></tfoot></table>"
    )


def _row(one: Method, bill: Bill) -> str:
    share = one.amount.micros / bill.spent.micros if bill.spent.micros else None
    pages = one.pages / bill.pages if bill.pages else 0.0
    cells = _cells(label_of(one.rung), one.pages, pages, one.amount.credits, one.amount.micros, share)
    return f"<tr>{cells}</tr>"


def _cells(name: str, pages: int, share: float, credits: int, micros: int, cost_share: float | None) -> str:
    figures = {
        "pages": f"{pages:,}",
        "of pages": percent(share),
        "credits": f"{credits:,}",
        "cost": dollars(micros),
        "of cost": "" if cost_share is None else percent(cost_share),
    }
    numbers = (f'<td class="number" data-title="{title}">{text}</td>' for title, text in figures.items())
    return f'<td class="name">{escape(name)}</td>{"".join(numbers)}'


def _rendered(bill: Bill) -> str:
    told = "".join(f"<li>{escape(sentence)}</li>" for sentence in rendering_sentences(bill))
    return f'<ul class="soft">{told}</ul>' if told else ""


CSS = """
:root { color-scheme: light dark; --ink: #1f2933; --soft: #52606d; --rule: #d9e0e5; --back: #fff; --card: #f6f8fa;
  --accent: #1f5673; --bar: #3d84a8; --good: #2f855a; --fair: #b7791f; --bad: #b83232; --mark: #fff1b8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9ed; --soft: #a3b0ba; --rule: #33404a; --back: #14191d;
  --card: #1c2329; --accent: #8fc7e3; --bar: #4f9dc4; --good: #5ec28c; --fair: #e0b153; --bad: #ee8080;
  --mark: #5c4b12; } }
* { box-sizing: border-box; }
body { margin: 0; padding: 2.5rem 1.25rem 3rem; background: var(--back); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main { max-width: 62rem; margin: 0 auto; }
h1 { margin: 0; font-size: 2rem; line-height: 1.2; color: var(--accent); overflow-wrap: anywhere; }
h2 { margin: 2.5rem 0 .75rem; font-size: 1.2rem; color: var(--accent); }
p { margin: .4rem 0; }
.soft { color: var(--soft); }
.partial { margin: 1rem 0; padding: .6rem .9rem; border-left: 4px solid var(--fair); background: var(--card); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .75rem; margin: 1.5rem 0; }
.tile { padding: .9rem 1rem; border-radius: .5rem; background: var(--card); }
.tile b { display: block; font-size: 1.7rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1rem 2rem; }
figure { margin: 0; min-width: 0; }
figcaption { margin-bottom: .4rem; font-weight: 600; }
svg { display: block; width: 100%; max-width: 440px; height: auto; font: 13px system-ui, sans-serif; }
svg text { fill: var(--ink); }
svg .count { fill: var(--soft); font-variant-numeric: tabular-nums; }
figure dl { margin-top: .5rem; font-size: .88rem; }
dl { display: grid; grid-template-columns: 11rem 1fr; gap: .3rem 1rem; margin: 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
table { width: 100%; border-collapse: collapse; font-size: .93rem; }
th { padding: .4rem .6rem; border-bottom: 2px solid var(--rule); text-align: left; color: var(--soft);
  font-weight: 600; vertical-align: bottom; }
td { padding: .55rem .6rem; border-bottom: 1px solid var(--rule); vertical-align: top; overflow-wrap: anywhere; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
th.number { max-width: 6rem; white-space: normal; }
.name { min-width: 11rem; font-weight: 600; }
.costs { margin-top: .75rem; }
.costs tfoot td { border-bottom: 0; border-top: 2px solid var(--rule); font-weight: 600; }
ul { margin: .75rem 0 0; padding-left: 1.2rem; }
.new { margin-left: .4rem; padding: 0 .4rem; border-radius: 1rem; background: var(--good); color: var(--back);
  font-size: .75rem; }
a { color: var(--accent); }
mark { background: var(--mark); color: inherit; padding: 0 .1em; }
footer { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--rule); font-size: .88rem; }
@media (max-width: 40rem) {
  body { padding-top: 1.5rem; }
  dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem; }
  thead { display: none; }
  table, tbody { display: block; }
  tr { display: grid; grid-template-columns: 1fr auto; gap: .1rem .75rem; padding: .8rem 0;
    border-bottom: 1px solid var(--rule); }
  td { display: block; padding: 0; border: 0; }
  td.rank { display: none; }
  td.wide { grid-column: 1 / -1; }
  td.number { text-align: left; color: var(--soft); }
  td.number::before { content: attr(data-title) " "; }
  td.score { text-align: right; color: var(--ink); font-weight: 600; }
  td.score::before { content: none; }
  tfoot { display: block; }
  .costs tr { grid-template-columns: 1fr 1fr; }
  .costs td.name { grid-column: 1 / -1; }
  .costs td.number:empty { display: none; }
  .costs tfoot td { border: 0; }
  .costs tfoot tr { border-bottom: 0; }
}
@media print {
  :root { --ink: #000; --soft: #444; --rule: #bbb; --back: #fff; --card: #f4f4f4; --accent: #1f5673; --bar: #3d84a8;
    --good: #2f855a; --fair: #b7791f; --bad: #b83232; --mark: #fff1b8; }
  body { padding: 0; font-size: 11pt; }
  tr, figure, .tile { break-inside: avoid; }
  h2 { break-after: avoid; }
}
"""
