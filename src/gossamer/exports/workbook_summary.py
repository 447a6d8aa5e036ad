"""The first sheet of a client's workbook: what was searched, when, by which settings, and what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from xlsxwriter import Workbook
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from gossamer.billing.bill import facts
from gossamer.exports.formula import defused
from gossamer.exports.sheet import MOST_LINKS
from gossamer.exports.workbook_writer import ACCENT, INK, PALE, RULE
from gossamer.exports.xlsx import CUT, MOST_ROWS
from gossamer.model.trouble import in_general
from gossamer.recipes.overview import Fact, FrequencyTable, FrontSheet, Overview

_MARGIN, _LABELS, _VALUES, _CHARTS = 0, 1, 2, 4  # columns
_TOP = 10

_EXAMPLE: Sequence[tuple[str, Fact]] = (("", ""), ("", datetime(2026, 1, 1, tzinfo=UTC)))


@dataclass(frozen=True, slots=True)
class Told:
    """Contents of the summary sheet. Without an overview it is a sample of itself: same cells, same formats."""

    overview: Overview | None
    front: FrontSheet
    rows: str  # the title of the sheet of rows
    ranked: str  # that of the ranking
    sheets: tuple[int, ...] = (0,)  # rows of each sheet of rows
    ranked_count: int = 0
    plain_addresses: int = 0  # for which a sheet had no link left
    raw: bool = False
    title: str = ""

    @property
    def heading(self) -> str:
        return self.title or (self.overview.job.name if self.overview else "")


def write_front(workbook: Workbook, sheet: Worksheet, told: Told) -> None:
    """Write the summary sheet.

    All formats are used in a fixed order, so that they get the same numbers in every workbook.
    """
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
    _text(sheet, 1, _LABELS, told.front.about, formats["subtitle"])
    _text(sheet, 2, _LABELS, _status(overview), formats["status"])
    amber = workbook.add_format({"bg_color": "#FFE8B3", "font_color": "#7A4B00", "bold": True})
    sheet.conditional_format(
        2, _LABELS, 2, _VALUES, {"type": "formula", "criteria": '=LEFT($B$3,7)="Partial"', "format": amber}
    )
    row = _section(sheet, 4, "What was searched", told.front.searched if overview else _EXAMPLE, formats)
    row = _section(sheet, row, "What was found", _found(told.front, overview) if overview else [("", 0)], formats)
    if overview and overview.bill and overview.bill.could_cost:
        row = _section(sheet, row, "What it cost", facts(overview.bill), formats)
    tables = _tables(told, overview) if overview else [FrequencyTable("", (("", 0),))]
    places = []
    for one in tables:
        row = _section(sheet, row, one.title, one.counts, formats)
        places.append((one.title, row - 1 - len(one.counts), row - 2))
    _text(sheet, row, _LABELS, "How to read this file", formats["section"])
    sheet.write_blank(row, _VALUES, None, formats["section"])
    for line in _notes(told):
        row += 1
        sheet.merge_range(row, _LABELS, row, _VALUES, "", formats["note"])
        _text(sheet, row, _LABELS, line, formats["note"])
        sheet.set_row(row, 15 * (1 + len(line) // 95))
    if overview:
        _draw(workbook, sheet, places[0], told)


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
    """Write a section; return the row where the next one begins."""
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


def _found(front: FrontSheet, overview: Overview) -> list[tuple[str, int]]:
    progress = overview.progress
    return [
        *front.found,
        ("Domains read", progress.sites_done + progress.sites_partial),
        ("Pages read", progress.pages_done),
        ("Domains that failed", progress.sites_failed),
        ("Pages that failed", progress.pages_failed),
    ]


def _tables(told: Told, overview: Overview) -> list[FrequencyTable]:
    """Return the tables of counts; the first is drawn as a chart."""
    reasons = tuple((in_general(reason), count) for reason, count in overview.reasons)
    found = [
        FrequencyTable(one.title, one.counts[:_TOP])
        for one in (*told.front.counts, FrequencyTable("Why domains failed", reasons))
        if one.counts
    ]
    return found or [FrequencyTable(told.rows, (("all", sum(told.sheets)),))]


def _notes(told: Told) -> list[str]:
    lines = list(told.front.notes)
    if told.overview and told.overview.bill and told.overview.bill.could_cost:
        lines.append("Costs: one line per domain, the dearest first, with its requests and the provider's credits.")
    lines.append("Failed: domains that could not be read, and why. Dates and times in all sheets are UTC.")
    if len(told.sheets) > 1:
        rows = f"{max(told.sheets):,}" if max(told.sheets) != MOST_ROWS - 1 else f"{MOST_ROWS:,} with its header"
        lines.append(f"The {told.rows.lower()} go on in {len(told.sheets)} sheets: a sheet holds {rows} rows.")
    if told.plain_addresses:
        lines.append(f"A sheet holds {MOST_LINKS:,} links: {told.plain_addresses:,} addresses are plain text.")
    if not told.raw:
        lines.append("An apostrophe before =, +, - or @ keeps a text from being taken for a formula.")
    lines.append(f'A text too long for a cell ends with "{CUT.strip()}".')
    return lines


def _draw(workbook: Workbook, sheet: Worksheet, place: tuple[str, int, int], told: Told) -> None:
    title, first, last = place
    _bars(
        workbook,
        sheet,
        3,
        title,
        ["Summary", first, _LABELS, last, _LABELS],
        ["Summary", first, _VALUES, last, _VALUES],
    )
    best = min(_TOP, told.ranked_count)
    if best:
        names: list[str | int] = [told.ranked, 1, 1, best, 1]
        _bars(workbook, sheet, 20, told.front.chart, names, [told.ranked, 1, 2, best, 2])


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


def _moment(at: datetime | None) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if at else ""
