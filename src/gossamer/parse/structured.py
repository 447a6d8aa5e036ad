"""What a page states for machines: JSON-LD, microdata, RDFa and Open Graph, as values that JSON can hold."""

import math
from typing import Any

from turbohtml import Document as Tree
from turbohtml import MicrodataItem, RdfaItem, StructuredData

from gossamer.model.record import Value

_DEEPEST = 60  # levels that are kept; what is nested deeper was not written by a person
_MOST = 2_000  # entries of one list or object
_LONGEST = 100_000  # characters of one text


def structured_data(tree: Tree, url: str) -> dict[str, Value]:
    """`json_ld`, `microdata`, `rdfa` and `open_graph`, each only where the page has some. Never raises."""
    found = _read(tree, url)
    kinds = {
        "json_ld": found.json_ld if found else tree.json_ld(),
        "microdata": found.microdata if found else [],
        "rdfa": found.rdfa if found else [],
        "open_graph": {
            name: said for name, said in (found.opengraph if found else {}).items() if not name.startswith("twitter:")
        },
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
