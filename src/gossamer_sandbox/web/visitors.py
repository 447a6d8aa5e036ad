"""Visitors who see more than others: with a browser, with a residential address, or with both and more.

A visitor declares its abilities in a header that only this project's tools send, such as the provider emulators.
Requests without the header get the ordinary response.
"""

from collections.abc import Mapping
from dataclasses import replace

from gossamer_sandbox.web.page import Manner, PagePlan

HEADER = "X-Sample-Visitor"

JS = "js"  # runs scripts
PREMIUM = "premium"  # comes from an address of a home
STEALTH = "stealth"  # cannot be told from a person

Visitor = frozenset[str]
NOBODY: Visitor = frozenset()
POWERS: Visitor = frozenset((JS, PREMIUM, STEALTH))

# The least that opens a page. Captchas are not here: nobody in this web solves them.
OPENED_BY: Mapping[Manner, Visitor] = {
    Manner.SHELL: frozenset((JS,)),
    Manner.ANUBIS: frozenset((JS,)),
    Manner.FORBIDDEN: frozenset((PREMIUM,)),
    Manner.CLOUDFLARE_1020: frozenset((PREMIUM,)),
    Manner.SUCURI: frozenset((PREMIUM,)),
    Manner.CLOUDFLARE: frozenset((JS, PREMIUM)),
    Manner.CLOUDFLARE_200: frozenset((JS, PREMIUM)),
    Manner.AWS_WAF: frozenset((JS, PREMIUM)),
    Manner.VERCEL: frozenset((JS, PREMIUM)),
    Manner.IMPERVA: frozenset((JS, PREMIUM)),
    Manner.AKAMAI: frozenset((JS, STEALTH)),
    Manner.DATADOME: frozenset((JS, STEALTH)),
    Manner.PERIMETERX: frozenset((JS, STEALTH)),
    Manner.KASADA: frozenset((JS, STEALTH)),
}


def visitor_of(header: str) -> Visitor:
    """The header as a value; words that mean nothing are passed over."""
    named = frozenset(word.strip() for word in header.split(",")) & POWERS
    # Whoever passes for a person passes for one at home.
    return named | {PREMIUM} if STEALTH in named else named


def as_seen_by(plan: PagePlan, visitor: Visitor) -> PagePlan:
    """Return the plan as a plain page if the visitor has what its guard needs, else the plan unchanged."""
    needed = OPENED_BY.get(plan.manner)
    return replace(plan, manner=Manner.PAGE) if needed is not None and needed <= visitor else plan
