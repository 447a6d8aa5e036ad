"""What a visitor can read on a page, as one line of plain text.

The parser's own renderer does the work. What it would get wrong is disguised in the tree for a moment and put back
afterwards, because others ask the same tree deeper questions:

    hidden elements             become scripts, whose text is never shown (so do ruby readings: they tear words apart)
    buttons, options, legends   become blocks, so that they do not glue to their neighbours
    images, frames, inputs      become line breaks: a gap without text (what stands inside is for old browsers)
    numbered lists              become plain ones, or numbers nobody wrote would stand in the snippets
    captions                    stand before their table, where the renderer sees them
    labels of drawings          get a space behind them
"""

import re
import unicodedata

from turbohtml import Document as Tree
from turbohtml import Element, Node, PlainText, Text, parse

try:
    # Not promised by the library, but four times as fast as splitting and joining, on every page.
    from turbohtml._html import _collapse_whitespace as squeeze
except ImportError:

    def squeeze(text: str, /) -> str:
        return " ".join(text.split())


# Soft hyphens and zero-width characters: not there for the eye, so not there for a keyword either.
INVISIBLE = ("\u00ad", "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff")

_LAYOUT = PlainText(layout="strict", bullet="", table_cell_separator=" ")
_DISGUISES = (
    *((tag, "div") for tag in ("button", "select", "option", "optgroup", "textarea", "legend", "center", "xmp")),
    *((tag, "br") for tag in ("img", "input", "iframe", "video", "audio", "canvas", "object", "meter", "progress")),
    *((tag, "script") for tag in ("noscript", "datalist", "noembed", "noframes", "desc", "annotation", "rt")),
    ("ol", "ul"),
)
_MAYBE_HIDDEN = "[hidden],[style*=none i],[style*=visibility i]"
_HIDDEN_STYLE = re.compile(r"(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))\b", re.IGNORECASE)
# Pages that hide themselves until a script has run are shown to every visitor in the end; templates are never shown.
_NEVER_HIDDEN = frozenset({"html", "body", "template"})

# The parser nests no deeper than 512 levels; beyond that all becomes a sibling, even the text of a script.
_DEEPEST = 510
_RAW_START = re.compile(r"<(script|style|noscript|iframe)\b[^>]*>", re.IGNORECASE)
_RAW_END = {tag: re.compile(rf"</{tag}[^>]*>", re.IGNORECASE) for tag in ("script", "style", "noscript", "iframe")}


def visible_text(tree: Tree, source: str) -> str:
    """Every word a visitor can read on the page, in its order, with single spaces. `tree` is left as it was."""
    if _reaches_the_limit(tree):
        tree = parse(_without_raw_text(source), positions=False, scripting=True)
    disguise = _Disguise()
    disguise.put_on(tree)
    text = tree.to_text(_LAYOUT)
    disguise.take_off()
    return tidy(text)


def tidy(text: str) -> str:
    """One line, single spaces, composed characters, nothing invisible."""
    if not text.isascii():
        for character in INVISIBLE:
            if character in text:
                text = text.replace(character, "")
        text = unicodedata.normalize("NFC", text)
    return squeeze(text)


class _Disguise:
    """Changes to a tree that can be taken back."""

    def __init__(self) -> None:
        self._renamed: list[tuple[Element, str]] = []
        self._moved: list[tuple[Element, Element, Node | None]] = []
        self._added: list[Node] = []

    def put_on(self, tree: Tree) -> None:
        # All questions before the first change: a change throws the parser's index of tags away.
        hidden = [element for element in tree.select(_MAYBE_HIDDEN) if _is_hidden(element)]
        captions = tree.find_all("caption")
        drawings = tree.find_all("svg")
        disguises = [(tree.find_all(tag), disguise) for tag, disguise in _DISGUISES]
        for drawing in drawings:
            self._space_labels(drawing)
        for caption in captions:
            self._lift(caption)
        for elements, disguise in disguises:
            for element in elements:
                self._rename(element, disguise)
        for element in hidden:
            self._rename(element, "script")

    def take_off(self) -> None:
        for node in self._added:
            node.extract()
        for node, parent, successor in reversed(self._moved):
            if successor is None:
                parent.append(node)
            else:
                successor.insert_before(node)
        # Backwards, because an element may have been renamed twice.
        for element, tag in reversed(self._renamed):
            element.tag = tag

    def _rename(self, element: Element, tag: str) -> None:
        self._renamed.append((element, element.tag))
        element.tag = tag

    def _lift(self, caption: Element) -> None:
        table = caption.parent
        if isinstance(table, Element) and table.parent is not None:
            self._moved.append((caption, table, caption.next_sibling))
            table.insert_before(caption)
            self._rename(caption, "div")

    def _space_labels(self, drawing: Element) -> None:
        for label in drawing.find_all("text"):
            space = Text(" ")
            label.insert_after(space)
            self._added.append(space)
        for title in drawing.find_all("title"):
            self._rename(title, "script")


def _is_hidden(element: Element) -> bool:
    if element.tag in _NEVER_HIDDEN:
        return False
    if "hidden" in element.attrs:
        return True
    return _HIDDEN_STYLE.search(element.attr("style") or "") is not None


def _reaches_the_limit(tree: Tree) -> bool:
    suspects = (*tree.select("script:empty"), *tree.select("style:empty"))
    return any(each.attr("src") is None and sum(1 for _ in each.ancestors) >= _DEEPEST for each in suspects)


def _without_raw_text(source: str) -> str:
    kept: list[str] = []
    position = 0
    while start := _RAW_START.search(source, position):
        kept.append(source[position : start.start()])
        end = _RAW_END[start[1].lower()].search(source, start.end())
        if end is None:
            return "".join(kept)
        position = end.end()
    kept.append(source[position:])
    return "".join(kept)
