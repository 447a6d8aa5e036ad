"""What a page states for machines: JSON-LD, microdata, RDFa and Open Graph, as values that JSON can hold."""

import math
from typing import Any

from turbohtml import Document as Tree
from turbohtml import Element, MicrodataItem, RdfaItem, StructuredData, parse

from gossamer.model.record import Value
from gossamer.parse.json_ld import read_json_ld

_DEEPEST = 60  # levels that are kept; what is nested deeper was not written by a person
_MOST = 2_000  # entries of one list or object
_LONGEST = 100_000  # characters of one text
_MOST_ORPHANS = 50


def structured_data(tree: Tree, url: str) -> dict[str, Value]:
    """`json_ld`, `microdata`, `rdfa` and `open_graph`, each only where the page has some. Never raises.

    `unreadable` has a sentence for each block that is not among them because it makes no sense.
    """
    found = _read(tree, url)
    json_ld, unreadable = read_json_ld(tree)
    open_graph = found.opengraph if found else {}
    kinds = {
        "json_ld": json_ld,
        "microdata": [*(found.microdata if found else []), *_orphans(tree, url)],
        "rdfa": found.rdfa if found else [],
        "open_graph": {
            **{name: said for name, said in open_graph.items() if not name.startswith("twitter:")},
            **_product_metas(tree),
        },
        "unreadable": unreadable,
    }
    return {name: plain(value) for name, value in kinds.items() if value}


def _read(tree: Tree, url: str) -> StructuredData | None:
    for base in (url, None):
        try:
            return tree.structured_data(base)
        except ValueError:
            continue  # the page's own base is no address
        except RecursionError:
            return None  # items that contain themselves
    return None


def _product_metas(tree: Tree) -> dict[str, str]:
    """Prices and the like, which stand beside Open Graph in a vocabulary of their own; the first of each name."""
    found: dict[str, str] = {}
    for meta in tree.find_all("meta", limit=_MOST):
        name = (meta.attr("property") or meta.attr("name") or "").strip().lower()
        if name.startswith("product:") and (content := (meta.attr("content") or "").strip()):
            found.setdefault(name, content)
    return found


def _orphans(tree: Tree, url: str) -> list[MicrodataItem]:
    """Items that call themselves a property, of nothing: their product has no markup of its own."""
    found: list[MicrodataItem] = []
    items = tree.select("[itemprop][itemscope]")
    if not items:
        return found
    referred = {name for each in tree.select("[itemref]") for name in (each.attr("itemref") or "").split()}
    for item in items:
        above = [each for each in item.ancestors if isinstance(each, Element)]
        if len(found) == _MOST_ORPHANS or any(each.attr("itemscope") is not None for each in above):
            continue
        if not referred.isdisjoint(each.attr("id") for each in (item, *above)):
            continue
        source = item.html
        if len(source) <= _LONGEST:
            alone = parse(source, positions=False, scripting=True)
            for again in alone.select("[itemprop][itemscope]")[:1]:
                del again.attrs["itemprop"]
            read = _read(alone, url)
            found += read.microdata[:1] if read else []
    return found


def plain(value: Any, depth: int = 0) -> Value:
    """What JSON can hold of a value, without what no database takes."""
    if depth > _DEEPEST:
        return None
    match value:
        case bool() | int() | float() | None:
            return _number(value)
        case MicrodataItem() | RdfaItem():
            kept = {"type": value.type, "properties": value.properties}
            named = value.id if isinstance(value, MicrodataItem) else value.resource
            return plain({**kept, "id": named} if named else kept, depth)
        case dict():
            return {clean(str(name)): plain(one, depth + 1) for name, one in list(value.items())[:_MOST]}
        case list() | tuple():
            return [plain(one, depth + 1) for one in value[:_MOST]]
    return clean(str(value))


def _number(value: float | None) -> Value:
    """Also true, false and nothing. What is beyond 64 bits, or no number at all, is not read alike everywhere."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 1 << 63 else None
    return value if math.isfinite(value) else None


def clean(text: str) -> str:
    """Text any database takes: JSON in a page may write characters that no page can hold itself."""
    text = text[:_LONGEST]
    if text.isascii():
        return text.replace("\0", "")
    return text.replace("\0", "").encode("utf-8", "replace").decode()
