"""Everything of a client's workbook but the rows: sheets, formats, the summary and its chart, made by XlsxWriter.

That library is careful and slow, and a workbook is mostly rows. So it writes the frame, in which every sheet has its
header and one example of a row; the rows themselves are put in by `sheet`, in the formats of the example.
"""

import io
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from xlsxwriter import Workbook
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from gossamer.exports.readable import format_of
from gossamer.exports.sheet import escaped, letters
from gossamer.exports.xlsx import MOST_ROWS
from gossamer.model.rungs import providers
from gossamer.recipes.base import Column

INK, ACCENT, PALE, RULE = "#1F2933", "#1F5673", "#EAF1F5", "#C9D3DA"
_EXAMPLE_LINK = "https://example.com/"

_WIDTHS = {"text": 22, "url": 44, "number": 11, "decimal": 10, "money": 12, "time": 17}
_PAPER = 180  # characters that can be read beside each other on a sheet of paper
_NUMBERS = ("number", "decimal", "money")
_SPELLED = {"url": "URL", "urls": "URLs", "http": "HTTP", "js": "JS", "usd": "USD"}

_SHEET_DATA = re.compile(r"<sheetData>(<row [^>]*>)(.*?)</row>(.*)</sheetData>", re.DOTALL)
_STYLE = re.compile(r'<c r="[A-Z]+\d" s="(\d+)"')
_HYPERLINKS = re.compile(r"<hyperlinks>.*?</hyperlinks>", re.DOTALL)
_DIMENSION = re.compile(r"<dimension [^>]*/>")
_FILTERED = re.compile(r'<autoFilter ref="A1:([A-Z]+)\d+"/>')


def heading(column: Column) -> str:
    """`context_snippet` as people read it: `Context snippet`."""
    spelled = _SPELLED | {one.name: one.title for one in providers().values()}
    words = [spelled.get(word, word) for word in column.name.split("_")]
    return words[0][:1].upper() + words[0][1:] + "".join(f" {word}" for word in words[1:])


@dataclass(frozen=True, slots=True)
class Plan:
    """A sheet with a table: its name, its columns, and how many rows it has below the header."""

    name: str
    columns: tuple[Column, ...]
    rows: int = MOST_ROWS - 1
    frozen: int = 1  # columns that stay in sight
    hidden: frozenset[str] = frozenset()  # columns that say nothing this time
    colour: str = ACCENT


@dataclass(frozen=True, slots=True)
class Frame:
    """The parts of a workbook's archive by name. Sheet 1 is the summary, 2 the first of the plans."""

    parts: dict[str, bytes]
    plans: tuple[Plan, ...]

    def sheet(self, number: int) -> "SheetFrame":
        text = self.parts[f"xl/worksheets/sheet{number}.xml"].decode()
        found = _SHEET_DATA.search(text)
        if found is None:
            raise RuntimeError(f"sheet {number} of the frame has no rows")
        first_row, header, example = found.groups()
        # The words of the header stand in its cells: the library's own list of words is another in each frame.
        named = zip(_STYLE.findall(header), self.plans[number - 2].columns, strict=True)
        cells = (
            f'<c r="{letters(at)}1" s="{style}" t="inlineStr"><is><t>{escaped(heading(column))}</t></is></c>'
            for at, (style, column) in enumerate(named)
        )
        before = f"{_DIMENSION.sub('', text[: found.start()])}<sheetData>{first_row}{''.join(cells)}</row>"
        return SheetFrame(before, "</sheetData>" + text[found.end() :], tuple(map(int, _STYLE.findall(example))))


@dataclass(frozen=True, slots=True)
class SheetFrame:
    """The parts of a sheet before and after its rows, and the formats of its columns."""

    before: str
    after: str
    styles: tuple[int, ...]

    def end(self, rows: int, links: Sequence[tuple[str, str]]) -> Iterator[str]:
        """Yield, in pieces, the part of the sheet after so many rows with these links."""
        text = _FILTERED.sub(rf'<autoFilter ref="A1:\g<1>{rows + 1}"/>', self.after)
        before, _, after = _HYPERLINKS.sub("\0", text).partition("\0")
        yield before
        if links:
            yield "<hyperlinks>"
            yield from _in_pieces(
                f'<hyperlink ref="{place}" r:id="rId{number}"/>' for number, (place, _) in enumerate(links, 1)
            )
            yield "</hyperlinks>"
        yield after


def make_frame(plans: Sequence[Plan], summary: Callable[[Workbook, Worksheet], None], title: str) -> Frame:
    """A workbook with a summary and these sheets, without their rows."""
    file = io.BytesIO()
    workbook = Workbook(file, {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False})
    workbook.set_properties({"title": title, "comments": "Made with Gossamer"})
    first = workbook.add_worksheet("Summary")
    sheets = [workbook.add_worksheet(plan.name) for plan in plans]
    formats = _formats(workbook)
    summary(workbook, first)
    for sheet, plan in zip(sheets, plans, strict=True):
        _lay_out(workbook, sheet, plan, formats)
    workbook.close()
    with zipfile.ZipFile(file) as archive:
        return Frame({name: archive.read(name) for name in archive.namelist()}, tuple(plans))


def _formats(workbook: Workbook) -> dict[str, Format]:
    plain = {"font_color": INK, "valign": "top"}
    header = {"bold": True, "font_color": "#FFFFFF", "bg_color": ACCENT, "valign": "vcenter", "text_wrap": True}
    return {
        "header": workbook.add_format(header),
        "header of numbers": workbook.add_format({**header, "align": "right", "indent": 1}),
        "text": workbook.add_format(plain),
        "time": workbook.add_format(
            {**plain, "font_color": "#52606D", "num_format": "yyyy-mm-dd hh:mm", "align": "left"}
        ),
        "date": workbook.add_format({**plain, "font_color": "#52606D", "num_format": "yyyy-mm-dd", "align": "left"}),
        # With the room of a bracket after it, or a number touches the text beside it.
        "number": workbook.add_format({**plain, "num_format": "#,##0_)"}),
        "decimal": workbook.add_format({**plain, "num_format": "0.0_)"}),
        # A page costs fractions of a cent in some plans.
        "money": workbook.add_format({**plain, "num_format": '[=0]"–"_);[<0.01]$0.0000_);$#,##0.00_)'}),
        "url": workbook.add_format({**plain, "font_color": "#0B63A5", "underline": 1}),
    }


def _lay_out(workbook: Workbook, sheet: Worksheet, plan: Plan, formats: dict[str, Format]) -> None:
    last = len(plan.columns) - 1
    sheet.set_row(0, 32)
    widths = [column.sheet.width or _WIDTHS[column.kind] for column in plan.columns]
    for at, column in enumerate(plan.columns):
        sheet.set_column(at, at, widths[at], None, {"hidden": column.name in plan.hidden})
        sheet.write_blank(0, at, None, formats["header of numbers" if column.kind in _NUMBERS else "header"])
        if column.kind == "url":
            sheet.write_url(1, at, _EXAMPLE_LINK, formats["url"], "link")
        else:
            sheet.write_blank(1, at, None, formats[format_of(column)])
    sheet.freeze_panes(1, plan.frozen)
    sheet.autofilter(0, 0, max(1, plan.rows), last)
    sheet.set_tab_color(plan.colour)
    sheet.hide_gridlines(2)
    sheet.set_landscape()
    sheet.set_paper(9)
    sheet.fit_to_pages(max(1, round(sum(widths) / _PAPER)), 0)
    sheet.repeat_rows(0)
    sheet.repeat_columns(0, plan.frozen - 1)
    sheet.set_footer("&L&A&RPage &P of &N")
    for at, column in enumerate(plan.columns):
        below = (1, at, max(1, plan.rows), at)
        for value, colour in column.sheet.colours:
            shade = workbook.add_format({"bg_color": colour})
            rule = {"type": "cell", "criteria": "==", "value": f'"{column.in_words(value)}"', "format": shade}
            sheet.conditional_format(*below, rule)
        if column.sheet.bar_to is not None:
            bar = {"type": "data_bar", "bar_color": "#9CC5DB", "min_type": "num", "min_value": 0}
            sheet.conditional_format(*below, {**bar, "max_type": "num", "max_value": column.sheet.bar_to})


def relations(links: Sequence[tuple[str, str]]) -> Iterator[str]:
    """The part of the archive that says where a sheet's links lead, in pieces."""
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/hyperlink"
    yield '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    yield '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    yield from _in_pieces(
        f'<Relationship Id="rId{number}" Type="{kind}" Target="{url.replace("&", "&amp;")}" TargetMode="External"/>'
        for number, (_, url) in enumerate(links, 1)
    )
    yield "</Relationships>"


def _in_pieces(texts: Iterator[str]) -> Iterator[str]:
    while piece := "".join(islice(texts, 1_000)):
        yield piece
