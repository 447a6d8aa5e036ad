"""The first sheet of a client's workbook: what was searched, when, by which settings, and what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from xlsxwriter import Workbook
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from gossamer.export.bill_words import facts
from gossamer.export.formula import defused
from gossamer.export.frame import ACCENT, INK, PALE, RULE
from gossamer.export.overview import Overview
from gossamer.export.readable import VERDICTS, verdict_words
from gossamer.export.sheet import MOST_LINKS
from gossamer.export.xlsx import CUT, MOST_ROWS
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.trouble import in_general

_MARGIN, _LABELS, _VALUES, _CHARTS = 0, 1, 2, 4  # columns
_LONGEST_LIST = 400
_TOP = 10

Fact = str | int | datetime
_EXAMPLE: Sequence[tuple[str, Fact]] = (("", ""), ("", datetime(2026, 1, 1, tzinfo=UTC)))

Counts = Sequence[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Told:
    """What the summary is made of. Without an overview it is an example of itself: same cells, same formats."""

    overview: Overview | None
    sheets: tuple[int, ...] = (0,)  # rows of each sheet of matches
    plain_addresses: int = 0  # for which a sheet had no link left
    only: str = ""
    raw: bool = False
    title: str = ""
    client: str = ""

    @property
    def heading(self) -> str:
        return self.title or (self.overview.job.name if self.overview else "")


def write_front(workbook: Workbook, sheet: Worksheet, told: Told) -> None:
    """Every format is used at least once, in the same order, whatever there is to say: so they are numbered alike."""
    overview, formats = told.overview, _formats(workbook)
    sheet.hide_gridlines(2)
    sheet.set_column(_MARGIN, _MARGIN, 2)
    sheet.set_column(_LABELS, _LABELS, 30)
    sheet.set_column(_VALUES, _VALUES, 58)
    sheet.set_column(_VALUES + 1, _VALUES + 1, 3)
    sheet.set_tab_color(INK)
    sheet.set_landscape()
    sheet.set_paper(9)
    sheet.fit_to_pages(1, 1)
    sheet.set_row(0, 34)
    _text(sheet, 0, _LABELS, told.heading, formats["title"])
    _text(sheet, 1, _LABELS, "Pages that mention your keywords, and whether they link to you", formats["subtitle"])
    _text(sheet, 2, _LABELS, _status(overview), formats["status"])
    amber = workbook.add_format({"bg_color": "#FFE8B3", "font_color": "#7A4B00", "bold": True})
    sheet.conditional_format(
        2, _LABELS, 2, _VALUES, {"type": "formula", "criteria": '=LEFT($B$3,7)="Partial"', "format": amber}
    )
    row = _section(sheet, 4, "What was searched", _searched(overview, told.client) if overview else _EXAMPLE, formats)
    row = _section(sheet, row, "What was found", _found(overview) if overview else [("", 0)], formats)
    if overview and overview.bill and overview.bill.could_cost:
        row = _section(sheet, row, "What it cost", facts(overview.bill), formats)
    tables: list[tuple[str, Counts]] = _tables(overview) if overview else [("", [("", 0)])]
    places = []
    for title, counts in tables:
        row = _section(sheet, row, title, counts, formats)
        places.append((title, row - 1 - len(counts), row - 2))
    _text(sheet, row, _LABELS, "How to read this file", formats["section"])
    sheet.write_blank(row, _VALUES, None, formats["section"])
    for line in _notes(told):
        row += 1
        sheet.merge_range(row, _LABELS, row, _VALUES, "", formats["note"])
        _text(sheet, row, _LABELS, line, formats["note"])
        sheet.set_row(row, 15 * (1 + len(line) // 95))
    if overview:
        _draw(workbook, sheet, places[0], overview)


def _formats(workbook: Workbook) -> dict[str, Format]:
    plain = {"font_color": INK, "valign": "top"}
    line = {**plain, "bottom": 1, "bottom_color": RULE}
    return {
        "title": workbook.add_format({**plain, "bold": True, "font_size": 22, "font_color": ACCENT}),
        "subtitle": workbook.add_format({**plain, "font_size": 12, "font_color": "#52606D"}),
        "status": workbook.add_format({**plain, "font_color": "#52606D"}),
        "section": workbook.add_format({**plain, "bold": True, "bg_color": PALE, "font_color": ACCENT}),
        "label": workbook.add_format({**line, "font_color": "#52606D"}),
        "value": workbook.add_format({**line, "text_wrap": True}),
        "number": workbook.add_format({**line, "num_format": "#,##0", "align": "left"}),
        "moment": workbook.add_format({**line, "num_format": "yyyy-mm-dd hh:mm", "align": "left"}),
        "note": workbook.add_format({**plain, "text_wrap": True, "font_color": "#52606D"}),
    }


def _section(
    sheet: Worksheet, row: int, title: str, lines: Sequence[tuple[str, Fact]], formats: dict[str, Format]
) -> int:
    """Where the next one begins."""
    _text(sheet, row, _LABELS, title, formats["section"])
    sheet.write_blank(row, _VALUES, None, formats["section"])
    for label, value in lines:
        row += 1
        _text(sheet, row, _LABELS, label, formats["label"])
        if isinstance(value, int):
            sheet.write_number(row, _VALUES, value, formats["number"])
        elif isinstance(value, datetime):
            sheet.write_datetime(row, _VALUES, value.astimezone(UTC).replace(tzinfo=None), formats["moment"])
        else:
            _text(sheet, row, _VALUES, value, formats["value"])
            sheet.set_row(row, 15 * (1 + len(value) // 58))
    return row + 2


def _text(sheet: Worksheet, row: int, column: int, text: str, format_: Format) -> None:
    sheet.write_string(row, column, str(defused(text)), format_)


def _status(overview: Overview | None) -> str:
    if overview is None:
        return ""
    made = f"as of {_moment(overview.at)}"
    if not overview.is_partial:
        return f"The job is {overview.job.state}. Results {made}."
    done, total = overview.progress.sites_finished, overview.progress.sites_total
    are = "is" if total == 1 else "are"
    return (
        f"Partial: the job is {overview.job.state}, {done:,} of {_domains(total)} {are} done. Results so far, {made}."
    )


def _searched(overview: Overview, client: str) -> list[tuple[str, Fact]]:
    job, params = overview.job, overview.job.params
    keywords = overview.wanted_keywords
    facts: dict[str, Fact | None] = {
        "Client": overview.named_client(client) or "none given",
        "Competitors": _list(params.get("competitor_domains") or []),
        "Domains": f"{overview.progress.sites_total:,}",
        "Left out on request": _domains(overview.excluded) if overview.excluded else "",
        "Keywords": f"{len(keywords):,}: {_list(keywords)}" if keywords else "",
        "Pages of a domain": _limits(params),
        "Only addresses like": _list(params.get("include") or []),
        "No addresses like": _list(params.get("exclude") or []),
        "Started (UTC)": job.started_at,
        "Finished (UTC)": job.finished_at,
        "Compared with": _named(overview.since) if overview.since else "",
        "Job": str(job.id),
    }
    return [(label, value) for label, value in facts.items() if value]


def _found(overview: Overview) -> list[tuple[str, int]]:
    progress = overview.progress
    facts = {
        # Without a client there is nobody who could be linked already.
        f"Prospects with {'unlinked ' if overview.clients else ''}mentions": overview.ranking.unlinked,
        "Domains with matches": overview.domains,
        "Matches": overview.matches,
        "Domains read": progress.sites_done + progress.sites_partial,
        "Pages read": progress.pages_done,
        "Domains that failed": progress.sites_failed,
        "Pages that failed": progress.pages_failed,
    }
    return list(facts.items())


def _tables(overview: Overview) -> list[tuple[str, Counts]]:
    """What is counted; the first is drawn."""
    wanted: dict[str, Counts] = {
        "Matches by verdict": [(verdict_words(name), count) for name, count in overview.verdicts]
        if overview.clients
        else (),
        "Matches by keyword": overview.keywords[:_TOP],
        "Why domains failed": [(in_general(reason), count) for reason, count in overview.reasons[:_TOP]],
    }
    return [(title, counts) for title, counts in wanted.items() if counts] or [("Matches", [("all", overview.matches)])]


def _notes(told: Told) -> list[str]:
    lines = [
        "Prospects: one line per domain, the most promising first. The score is the sum of the points beside it, made "
        "only of what was seen on the pages.",
        "Matches: one line per page and keyword" + (f', only "{verdict_words(told.only)}".' if told.only else "."),
    ]
    if told.overview and told.overview.clients:
        lines += [f"{name}: {meaning}." for name, meaning in VERDICTS.values()]
    if told.overview and told.overview.bill and told.overview.bill.could_cost:
        lines.append("Costs: one line per domain, the dearest first, with its requests and the provider's credits.")
    lines.append("Failed: domains that could not be read, and why. Dates and times in all sheets are UTC.")
    if len(told.sheets) > 1:
        rows = f"{max(told.sheets):,}" if max(told.sheets) != MOST_ROWS - 1 else f"{MOST_ROWS:,} with its header"
        lines.append(f"The matches go on in {len(told.sheets)} sheets: a sheet holds {rows} rows.")
    if told.plain_addresses:
        lines.append(f"A sheet holds {MOST_LINKS:,} links: {told.plain_addresses:,} addresses are plain text.")
    if not told.raw:
        lines.append("An apostrophe before =, +, - or @ keeps a text from being taken for a formula.")
    lines.append(f'A text too long for a cell ends with "{CUT.strip()}".')
    return lines


def _draw(workbook: Workbook, sheet: Worksheet, place: tuple[str, int, int], overview: Overview) -> None:
    title, first, last = place
    _bars(
        workbook,
        sheet,
        3,
        title,
        ["Summary", first, _LABELS, last, _LABELS],
        ["Summary", first, _VALUES, last, _VALUES],
    )
    best = min(_TOP, overview.ranking.domains)
    if best:
        _bars(
            workbook, sheet, 20, "Best prospects by score", ["Prospects", 1, 1, best, 1], ["Prospects", 1, 2, best, 2]
        )


def _bars(
    workbook: Workbook, sheet: Worksheet, row: int, title: str, names: list[str | int], values: list[str | int]
) -> None:
    chart = workbook.add_chart({"type": "bar"})
    if chart is None:
        raise RuntimeError("XlsxWriter knows no bars")
    chart.add_series(
        {
            "name": title,
            "categories": names,
            "values": values,
            "fill": {"color": ACCENT},
            "gap": 60,
            "data_labels": {"value": True, "font": {"color": INK, "size": 9}},
        }
    )
    chart.set_title({"name": title, "name_font": {"size": 12, "color": INK, "bold": True}, "overlay": False})
    chart.set_legend({"none": True})
    # The first of a table on top, as it is read.
    chart.set_y_axis({"reverse": True, "num_font": {"size": 9, "color": INK}, "line": {"color": RULE}})
    chart.set_x_axis({"visible": False, "major_gridlines": {"visible": False}, "min": 0})
    chart.set_chartarea({"border": {"color": RULE}})
    chart.set_size({"width": 520, "height": 300})
    sheet.insert_chart(row, _CHARTS, chart)


def _domains(count: int) -> str:
    return f"{count:,} domain{'' if count == 1 else 's'}"


def _limits(params: Any) -> str:
    most, top = params.get("max_pages_per_domain"), params.get("top_pages")
    return f"up to {most:,}; of larger domains the {top:,} most linked" if most and top else ""


def _list(names: Sequence[str]) -> str:
    text = ", ".join(names)
    if len(text) <= _LONGEST_LIST:
        return text
    kept = text[:_LONGEST_LIST].rpartition(", ")[0]
    return f"{kept} and {len(names) - kept.count(', ') - 1:,} more"


def _named(job: Job) -> str:
    return f"{job.name} ({short(job.id)})"


def _moment(at: datetime | None) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if at else ""
