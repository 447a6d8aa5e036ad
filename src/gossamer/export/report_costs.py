"""The part of the report page about money: what was spent, on which methods, and what was saved."""

from html import escape

from gossamer.billing.bill import (
    Bill,
    Method,
    assumed_sentence,
    percent,
    rendering_sentences,
    saved_words,
    used_sentences,
)
from gossamer.model.money import dollars
from gossamer.model.rungs import label_of

_HEAD = (
    '<th>Method</th><th class="number">Pages</th><th class="number">Share of pages</th>'
    '<th class="number">Credits</th><th class="number">Cost</th><th class="number">Share of cost</th>'
)


def costs_part(bill: Bill | None) -> str:
    """Nothing for a job that could not cost anything."""
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
