"""A bill in words: the sentences that the terminal, the report page and the workbook share."""

from collections.abc import Mapping

from gossamer.export.bill import Bill, Saving
from gossamer.model.money import Amount, dollars, shown
from gossamer.model.rungs import label_of
from gossamer.model.sentences import rendering_sentence
from gossamer.store.result_rows import Rendered


def sum_of(amount: Amount) -> str:
    """`235 credits ($2.35)`."""
    return f"{shown('credits', amount.credits)} ({dollars(amount.micros)})"


def used_sentences(bill: Bill) -> list[str]:
    """`ScrapingBee credits used: 6,247 ($62.47)`, for each provider."""
    return [f"{name} credits used: {one.credits:,} ({dollars(one.micros)})" for name, one in bill.by_provider().items()]


def saved_words(saving: Saving) -> str:
    """How much was saved, against what, and how much of that was spent."""
    pages, premium = _pages(saving.pages), sum_of(saving.premium)
    return (
        f"{sum_of(saving.saved)}. The same {pages} by premium-only take {premium} at least; "
        f"{percent(saving.share)} of that was spent."
    )


def assumed_sentence(bill: Bill) -> str:
    """Nothing where every price was told."""
    requests = f"{bill.assumed:,} request{'' if bill.assumed == 1 else 's'}"
    return f"Assumed: {requests} whose price nobody said, booked at the worst price" if bill.assumed else ""


def rendering_sentences(bill: Bill) -> list[str]:
    """`example.com: 3/47 pages required JS rendering`, of those that needed it most."""
    told = [rendering_sentence(one.host, one.rendered, one.read) for one in bill.rendered]
    return [*told, "and more domains"] if bill.more_rendered else told


def rendering_words(one: Rendered) -> str:
    """`example.com (3 of 47 pages)`."""
    return f"{one.host} ({one.rendered:,} of {_pages(one.read)})"


def percent(share: float) -> str:
    """`8 %`; what is there is never 0 %, and what is not all never 100 %."""
    if 0 < share < 0.01:
        return "under 1 %"
    return "over 99 %" if 0.99 < share < 1 else f"{share:.0%}".replace("%", " %")


def breakdown(domains: Mapping[str, int]) -> str:
    """`Breakdown: Direct (free): 3,891 domains | ScrapingBee (standard): 1,924 domains`."""
    parts = (f"{label_of(rung)}: {count:,} domain{'' if count == 1 else 's'}" for rung, count in domains.items())
    return f"Breakdown: {' | '.join(parts)}"


def facts(bill: Bill) -> list[tuple[str, str]]:
    """Labels and values of a summary in which each stands on a line."""
    lines = [("In all", sum_of(bill.spent))]
    for one in bill.methods:
        pages = f"{_pages(one.pages)} ({percent(one.pages / max(1, bill.pages))})"
        cost = f", {sum_of(one.amount)}" if one.amount else ""
        lines.append((label_of(one.rung), pages + cost))
    if bill.saving:
        lines.append(("Saved against premium-only", saved_words(bill.saving)))
    needed = [rendering_words(one) for one in bill.rendered]
    if needed:
        lines.append(("Needed JS rendering", ", ".join(needed) + (" and more" * bill.more_rendered)))
    return lines


def _pages(count: int) -> str:
    return f"{count:,} page{'' if count == 1 else 's'}"
