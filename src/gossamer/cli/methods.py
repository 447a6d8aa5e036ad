"""What pages were read with, said wherever a job is summed up. Nothing for a job with one way to fetch, and free."""

from rich.cells import cell_len, set_cell_size

from gossamer.export.bill import Bill
from gossamer.export.bill_words import percent, rendering_sentences
from gossamer.ledger.methods import method_name
from gossamer.model.money import dollars

_GAP = "  "
_SHORTEST_NAME = 12


def lines(bill: Bill, room: int) -> list[str]:
    """A line per method: its pages, its credits, and the share it has of all. Then who needed a browser."""
    if not bill.methods:
        return []
    table = _table(bill)
    widths = [max(len(line[at]) for line in table) for at in range(1, len(table[0]))]
    names = max(cell_len(line[0]) for line in table)
    names = max(_SHORTEST_NAME, min(names, room - 2 - sum(widths) - len(_GAP) * len(widths)))
    made = [
        # What is below the titles is indented.
        _GAP.join([("  " if at else "") + _cut(name, names if at else names + 2), *map(str.rjust, figures, widths)])
        for at, (name, *figures) in enumerate(table)
    ]
    return [*made, *(f"  {line}" for line in rendering_sentences(bill))]


def _table(bill: Bill) -> list[list[str]]:
    paid = bool(bill.spent)
    titles = ["Read with", "Pages", "of pages", *(["Credits", "Cost", "of cost"] if paid else [])]
    cells = [titles]
    for one in bill.methods:
        pages = [f"{one.pages:,}", percent(one.pages / bill.pages) if bill.pages else ""]
        share = one.amount.micros / bill.spent.micros if bill.spent.micros else 0.0
        money = [f"{one.amount.credits:,}", dollars(one.amount.micros), percent(share)] if paid else []
        cells.append([method_name(one.rung), *pages, *money])
    return cells


def _cut(text: str, width: int) -> str:
    return set_cell_size(text, width - 1) + "…" if cell_len(text) > width else set_cell_size(text, width)


def as_json(bill: Bill) -> dict[str, int]:
    """Pages by rung; nothing where there is only one."""
    return {one.rung: one.pages for one in bill.methods if one.pages}
