"""Shells that a script would fill, and pages with nothing on them."""

import re

from gossamer.model.document import Document
from gossamer.model.trouble import Reason, Trouble

# Characters of visible text: hardly a sentence; not yet a page.
_HARDLY_ANY = 50
_LITTLE = 250
_FEW_LINKS = 5

# Where the usual frameworks put what they render.
_ROOTS = (
    "#root", "#app", "#__next", "#__nuxt", "#__layout", "#___gatsby", "#svelte", "#q-app", "#app-root", "#react-root",
    "#app-container", "#main-app", "#application", "#ember-app", "#spa-root", "app-root", "[ng-app]",
)  # fmt: skip
_SHOWN_WITHOUT_WORDS = ("img", "svg", "video", "object", "embed", "iframe", "frame", "canvas", "form")
_NEEDS_SCRIPT = re.compile(
    r"\b(?:enabl|activat|turn\W+on|requir|need|without|disabl|unterst|aktivier|activ|habilit|abilit|включ|inschakel)\w*"
    r"\W+(?:\w+\W+){0,4}java\s?script"
    r"|java\s?script\W+(?:\w+\W+){0,4}(?:enabl|activat|requir|need|disabl|turned\W+o|aktivier|activ|habilit|abilit|включ)",
    re.IGNORECASE,
)
# Single parts of a page that have a sentence of their own about it, as address cloaking and comment services do.
_PART = (
    r"(?:comment|kommentar|coment[aá]rio|disqus|maps?\b|videos?\b|player|forms?\b|formul[aá]r|galler|slide ?show"
    r"|calendar|e-?mail[ -]ad|adresse (?:e-?)?mail|this e-?mail|widget|poll\b|tweets?\b)"
)
_PART_BEHIND = re.compile(rf"(?:(?![.!?](?:\s|$)).){{0,120}}?\b{_PART}", re.IGNORECASE | re.DOTALL)
# As its subject, or as what one should do it for.
_PART_BEFORE = re.compile(
    rf"\b{_PART}\w*\W+$|\b(?:to|for|um|pour|para|per)\W+(?:\w+\W+){{0,4}}{_PART}\w*\W+(?:\w+\W+){{0,3}}$",
    re.IGNORECASE,
)
# In any language an address is cloaked against these, and the next sentence says how to see it.
_CLOAKED = re.compile("spam|спам", re.IGNORECASE)
_CODE_TYPES = frozenset({"", "module", "text/javascript", "application/javascript", "text/ecmascript"})


def find_hollow(doc: Document) -> Trouble | None:
    """HOLLOW where a script is missing, EMPTY where nothing is; a page that leads on by itself is neither."""
    length = len(doc.text)
    if length >= _LITTLE or doc.refresh:
        return None
    if _has_code(doc) and _waits_for_script(doc, length):
        return Trouble(Reason.HOLLOW, http_status=doc.status)
    if not length and not doc.links and not _shows_something(doc, frames=False):
        return Trouble(Reason.EMPTY, http_status=doc.status)
    return None


def _has_code(doc: Document) -> bool:
    """Scripts that run; data in a script's clothes (JSON-LD) fills no page."""
    return any((each.attr("type") or "").strip().lower() in _CODE_TYPES for each in doc.tree.find_all("script"))


def _waits_for_script(doc: Document, length: int) -> bool:
    if _has_empty_root(doc) or _says_so(doc):
        return len(doc.links) <= _FEW_LINKS
    return length < _HARDLY_ANY and len(doc.links) < _FEW_LINKS and not _shows_something(doc)


def _has_empty_root(doc: Document) -> bool:
    for selector in _ROOTS:
        root = doc.tree.select_one(selector)
        if root is not None and len(root.text.strip()) < _HARDLY_ANY:
            return True
    return False


def _says_so(doc: Document) -> bool:
    """Whether the page tells visitors without JavaScript that there is nothing for them."""
    apologies = [each.text[:1_000] for each in doc.tree.find_all("noscript", limit=10)]
    return any(
        not _is_about_a_part(text, found) for text in (doc.text, *apologies) for found in _NEEDS_SCRIPT.finditer(text)
    )


def _is_about_a_part(text: str, found: re.Match[str]) -> bool:
    before = text[max(0, found.start() - 120) : found.start()]
    return bool(_PART_BEHIND.match(text, found.end()) or _PART_BEFORE.search(before) or _CLOAKED.search(before))


def _shows_something(doc: Document, *, frames: bool = True) -> bool:
    """Whether there is anything to see without words. What a frame shows is another page."""
    return any(doc.tree.find(tag) is not None for tag in _SHOWN_WITHOUT_WORDS if frames or tag != "iframe")
