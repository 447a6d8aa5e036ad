"""What a page says of itself: title, description, headings, cards, who is behind it and what it is made with."""

from collections.abc import Iterable
from typing import Any

from gossamer.analyze.contacts import contacts_of
from gossamer.analyze.dates import page_date
from gossamer.analyze.technologies import technologies_of
from gossamer.model.document import Document
from gossamer.model.record import Value
from gossamer.model.url import normalise
from gossamer.parse.metadata import base_of
from gossamer.parse.parts import Landmarks
from gossamer.parse.structured import clean, structured_data
from gossamer.parse.text import tidy

MOST_HEADINGS = 200
_MOST_WORDS = 100
_MOST_TYPES = 50
_LONGEST = 2_000  # characters of one value
_LEVELS = ("h1", "h2", "h3")
_ICONS = ("icon", "shortcut icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon")
_USUAL_ICON = "/favicon.ico"


def page_facts(doc: Document, structured: dict[str, Value] | None = None) -> dict[str, Value]:
    """Everything the page states, the same names for every page; what it does not state is empty."""
    base = base_of(doc.tree, doc.url)
    named = _named_metas(doc)
    data = structured_data(doc.tree, doc.url) if structured is None else structured
    described = named.get("description") or named.get("og:description") or named.get("twitter:description") or ""
    return {
        "title": doc.title,
        "description": described,
        "language": doc.language,
        "canonical": doc.canonical,
        "site_name": named.get("og:site_name") or named.get("application-name") or "",
        "author": named.get("author") or named.get("article:author") or "",
        "date": page_date(doc),
        "keywords": _words(named.get("keywords", "")),
        "robots": named.get("robots", ""),
        "headings": _headings(doc),
        "open_graph": {name[3:]: said for name, said in named.items() if name.startswith("og:")},
        "twitter_card": {name[8:]: said for name, said in named.items() if name.startswith("twitter:")},
        "favicon": _favicon(doc, base),
        "structured_types": _types(data),
        **contacts_of(doc, data),
        "technologies": technologies_of(doc, named),
    }


def _named_metas(doc: Document) -> dict[str, str]:
    """Meta elements by name or property in lower case; the first of a name that says something counts."""
    landmarks: Landmarks = doc.landmarks
    named: dict[str, str] = {}
    for meta in landmarks.metas:
        name = (meta.attr("property") or meta.attr("name") or meta.attr("itemprop") or "").strip().lower()
        said = clean(tidy((meta.attr("content") or "")[: 4 * _LONGEST]))[:_LONGEST]
        if name and said and len(name) <= 100:
            named.setdefault(name, said)
    return named


def _headings(doc: Document) -> Value:
    landmarks: Landmarks = doc.landmarks
    found: dict[str, Value] = {}
    for level in _LEVELS:
        of_level = (element for element in landmarks.headings if element.tag == level)
        said: Iterable[str] = (clean(tidy(element.text))[:_LONGEST] for element in of_level)
        found[level] = list(dict.fromkeys(text for text in said if text))[:MOST_HEADINGS]
    return found


def _words(text: str) -> list[str]:
    return [word for word in map(tidy, text.split(",")) if word][:_MOST_WORDS]


def _favicon(doc: Document, base: str) -> str | None:
    by_relation: dict[str, str] = {}
    for element in doc.tree.find_all("link"):
        relation = " ".join((element.attr("rel") or "").lower().split())
        if relation in _ICONS and relation not in by_relation and (href := element.attr("href")):
            address = normalise(href.strip(), base)
            if address:
                by_relation[relation] = address
    stated = next((by_relation[relation] for relation in _ICONS if relation in by_relation), None)
    return stated or normalise(_USUAL_ICON, doc.url)


def _types(data: dict[str, Value]) -> list[str]:
    """What the page says it is about, by the names of schema.org: Product, Article, ..."""
    found: dict[str, None] = {}
    for named in _walk(data.get("json_ld"), "@type"):
        found[named] = None
    for kind in ("microdata", "rdfa"):
        for named in _walk(data.get(kind), "type"):
            found[named] = None
    return [name for name in found if name][:_MOST_TYPES]


def _walk(value: Any, key: str) -> Iterable[str]:
    waiting = [value]
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, list):
            waiting = [*one, *waiting]
        elif isinstance(one, dict):
            stated = one.get(key)
            for named in stated if isinstance(stated, list) else [stated]:
                if isinstance(named, str):
                    yield from (part.rstrip("/").rpartition("/")[2].rpartition("#")[2] for part in named.split())
            waiting = [*(inner for inner in one.values() if isinstance(inner, list | dict)), *waiting]
