"""Costs and fetch methods of a job, as lines and as JSON. By domain: cli/spending.py."""

from typing import Any

from rich.cells import cell_len

from gossamer.billing.bill import (
    Bill,
    Saving,
    assumed_sentence,
    breakdown,
    percent,
    rendering_sentences,
    saved_words,
    used_sentences,
)
from gossamer.cli.tables import cut
from gossamer.intake.limits import OPTIONS
from gossamer.model.money import MEGABYTE, MICROS, Amount, dollars, shown
from gossamer.model.rungs import label_of
from gossamer.questions.jobs import Costs


def status_lines(costs: Costs) -> list[str]:
    """Costs for the status of a job: `Cost so far: 4,832 ScrapingBee credits used ($48.32)`, limits and methods."""
    budget = costs.budget
    lines = [f"Cost so far: {_spent(costs.bill)}"]
    if budget.reserved:
        lines.append(f"Reserved: {shown('credits', budget.reserved.credits)} for requests under way")
    limits = [
        f"{shown(part, most)} ({option})"
        for part, option in OPTIONS.items()
        if (most := getattr(budget.cap, part)) is not None
    ]
    if limits:
        lines.append(f"Limits: {', '.join(limits)}")
    return [*lines, *detail_lines(costs.bill)]


def ending_lines(costs: Costs) -> list[str]:
    """Costs at the end: `ScrapingBee credits used: 6,247 ($62.47)` and more; empty without paid methods."""
    return [*used_sentences(costs.bill), *detail_lines(costs.bill)]


def detail_lines(bill: Bill) -> list[str]:
    """Domains by method, assumed charges and savings, as far as there are any."""
    domains = breakdown(bill.domains) if bill.domains else ""
    saved = f"Saved: {saved_words(bill.saving)}" if bill.saving else ""
    return [line for line in (domains, assumed_sentence(bill), saved) if line]


def _spent(bill: Bill) -> str:
    named = [f"{one.credits:,} {name} credits used ({dollars(one.micros)})" for name, one in bill.by_provider().items()]
    return ", ".join(named) or f"0 credits used ({dollars(0)})"


def as_json(costs: Costs) -> dict[str, Any]:
    budget, bill = costs.budget, costs.bill
    return {
        **spent_json(budget.spent),
        "reserved_credits": budget.reserved.credits,
        "limits": {
            "credits": budget.cap.credits,
            "usd": None if budget.cap.micros is None else budget.cap.micros / MICROS,
            "mb": None if budget.cap.traffic is None else budget.cap.traffic // MEGABYTE,
            "residential_mb": None if budget.cap.bytes is None else budget.cap.bytes // MEGABYTE,
        },
        "methods": [
            {
                "method": one.rung,
                "name": label_of(one.rung),
                "provider": one.provider or None,
                "pages": one.pages,
                "requests": one.requests,
                "assumed": one.assumed,
                **spent_json(one.amount),
                "share_of_pages": _share(one.pages, bill.pages),
                "share_of_cost": _share(one.amount.micros, bill.spent.micros),
            }
            for one in bill.methods
        ],
        "domains_by_method": bill.domains or {},
        "js_rendering": [{"domain": one.host, "rendered": one.rendered, "read": one.read} for one in bill.rendered],
        "saved": _saving_json(bill.saving) if bill.saving else None,
    }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _saving_json(saving: Saving) -> dict[str, Any]:
    return {
        **spent_json(saving.saved),
        "pages": saving.pages,
        "premium_method": saving.rung,
        "premium_only": spent_json(saving.premium),
        "share_spent": round(saving.share, 4),
    }


def spent_json(amount: Amount) -> dict[str, Any]:
    return {"credits": amount.credits, "usd": amount.micros / MICROS, "residential_bytes": amount.bytes}


_GAP = "  "
_SHORTEST_NAME = 12


def method_lines(bill: Bill, room: int) -> list[str]:
    """A table of methods with their pages, credits and shares, then the domains that needed a browser.

    Empty for jobs that used only the free direct method.
    """
    if not bill.methods:
        return []
    table = _table(bill)
    widths = [max(len(line[at]) for line in table) for at in range(1, len(table[0]))]
    names = max(cell_len(line[0]) for line in table)
    names = max(_SHORTEST_NAME, min(names, room - 2 - sum(widths) - len(_GAP) * len(widths)))
    made = [
        # Rows below the titles are indented.
        _GAP.join([("  " if at else "") + cut(name, names if at else names + 2), *map(str.rjust, figures, widths)])
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
        cells.append([label_of(one.rung), *pages, *money])
    return cells


def pages_by_method(bill: Bill) -> dict[str, int]:
    """Pages by rung; empty where only one method was used."""
    return {one.rung: one.pages for one in bill.methods if one.pages}
