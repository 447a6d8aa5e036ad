"""Keywords of the sample web and the rule by which mentions are counted.

A mention is an occurrence in the title or in the text a visitor can read. Case does not matter. It stands at word
boundaries: letters, digits and the underscore are word characters, and neither neighbour of the occurrence may be one
(Japanese needs no boundary). White space of any kind between the words of a phrase and inline tags between or inside
words do not matter; soft hyphens and zero-width characters are ignored; entities are decoded. Every keyword is
counted separately, so "CRM software" counts for "CRM" too.

Not counted: script, style, template, noscript, comments, elements with `hidden`, inline `display:none` or
`visibility:hidden`, every attribute (alt, title, the meta description), longer words that contain a keyword ("CRMs",
"xCRM"), and a word cut in two by a block boundary (`<div>C</div><div>RM</div>`). A phrase whose words stand in
different blocks is never written, since whether it counts is a matter of taste; for the same reason nothing is
written straight before or after a symbol at the edge of a keyword ("C++11", "ASP.NET").
"""

from collections.abc import Mapping

KEYWORDS: tuple[str, ...] = (
    "CRM",
    "CRM software",
    "small business CRM",
    "marketing automation",
    "e-commerce",
    "state-of-the-art",
    "café crème",
    "C++",
    ".NET",
    "R&D",
    "OAuth 2.0",
    "point of sale",
    "POS",
    "Kundenbindung",
    "Datenschutz-Grundverordnung",
    "facturación electrónica",
    "księgowość",
    "управление проектами",
    "склад",
    "顧客管理",
    "在庫管理システム",
)

CLIENT = "client-acme.test"
"""The site whose links prospecting looks for."""

COMPETITORS: tuple[str, ...] = ("rival-north.test", "rival-south.test")

OUTSIDE: tuple[str, ...] = (
    CLIENT,
    *COMPETITORS,
    "news-wire.test",
    "big-social.test",
    "not-client-acme.test",
    "client-acme.test.lookalike.test",
)
"""Names that pages link to, also by subdomains, and that no walk inside a site may ever ask for anything."""


def is_at(host: str, domain: str) -> bool:
    """Return True if a host is the domain or a subdomain of it; names that merely end alike are not."""
    return host == domain or host.endswith(f".{domain}")


def is_outside(host: str) -> bool:
    return any(is_at(host, name) for name in OUTSIDE)


# What is written into pages: the keywords and one phrase in which three of them overlap.
PHRASES: tuple[str, ...] = (*KEYWORDS, "small business CRM software")


def is_japanese(text: str) -> bool:
    return any("\u3040" <= letter <= "\u30ff" or "\u4e00" <= letter <= "\u9fff" for letter in text)


def _is_word(letter: str) -> bool:
    """Return True if there is a character and it is part of a word."""
    return letter.isalnum() or letter == "_"


def occurrences(keyword: str, text: str) -> int:
    """Count a keyword in plain text: entities decoded, white space collapsed."""
    wanted, within = keyword.lower(), text.lower()
    free = is_japanese(keyword)
    found = 0
    at = within.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        before, after = within[max(at - 1, 0) : at], within[end : end + 1]
        found += free or not (_is_word(before) or _is_word(after))
        at = within.find(wanted, at + 1)
    return found


def counted(text: str) -> dict[str, int]:
    """Every keyword that plain text mentions, with how often."""
    counts = {keyword: occurrences(keyword, text) for keyword in KEYWORDS}
    return {keyword: count for keyword, count in counts.items() if count}


WORTH: Mapping[str, Mapping[str, int]] = {phrase: counted(phrase) for phrase in PHRASES}
"""What writing a phrase once adds to the counts of a page."""


def _longer_words(phrase: str) -> tuple[str, ...]:
    first, last = phrase[0], phrase[-1]
    shapes = []
    if _is_word(last):
        shapes += [f"{phrase}s", f"{phrase}_x", f"{phrase}7"]
    if _is_word(first):
        shapes += [f"x{phrase}", f"un{phrase.lower()}"]
    if _is_word(first) and _is_word(last):
        shapes += [f"s{phrase}ble", f"{first}a{phrase[1:]}"]
    # A longer word around one keyword may still hold another ("CRM softwares" mentions CRM): such are no decoys.
    return tuple(shape for shape in shapes if not counted(shape))


LOOKALIKES: Mapping[str, tuple[str, ...]] = {phrase: _longer_words(phrase) for phrase in PHRASES}
"""Text that looks like a phrase at a glance and mentions nothing."""
