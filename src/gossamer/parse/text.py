"""Visible text of a page, as one line of plain text.

The parser's own renderer does the work. Elements that it would render wrongly are disguised in the
tree for a moment and restored afterwards, because other code uses the same tree:

    hidden elements           become scripts, whose text is never shown; so do ruby readings (they split words)
                              and the descriptions of drawings and formulas
    forms, buttons, options   become blocks, so that they do not stick to their neighbours
    images, frames, inputs    become line breaks: a gap without text (their content is for old browsers)
    lists                     become blocks: the renderer shows only direct items of a list, and numbers them
    preformatted text         becomes a block: the renderer would show the scripts in it
    quotations                become blocks: after an empty one the renderer omits the next line break
    tables                    become blocks if their cells hold blocks; the renderer runs those together
    blocks in inline markup   get a space after them, and so do labels in drawings: the renderer omits it
    raised numbers            get the digits they look like: `CRM<sup>1</sup>` is `CRM¹`, not `CRM1`
    neighbouring links        get a seam between them, which becomes a space unless they share a word
                              (`_without_seams`)
"""

import re
from collections.abc import Mapping
from itertools import chain, islice
from typing import Any

from turbohtml import Comment, Element, PlainText, Text, parse
from turbohtml import Document as Tree
from turbohtml.detect import normalize

try:
    # Not promised by the library, but four times as fast as splitting and joining, on every page.
    from turbohtml._html import _collapse_whitespace
except ImportError:

    def _collapse_whitespace(text: str, /) -> str:
        return " ".join(text.split())


# Soft hyphens, zero-width characters, marks of direction: not there for the eye, so not there for a keyword either.
INVISIBLE = ("\u00ad", "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u200e", "\u200f", "\u061c")
# These too, but only formulas have them, and to look for them on every page would take longer than all the others.
_INVISIBLE_IN_FORMULAS = dict.fromkeys(range(0x2061, 0x2065))

_LAYOUT = PlainText(layout="strict", bullet="", table_cell_separator=" ")
_DISGUISES = {
    **dict.fromkeys(("form", "fieldset", "legend", "button", "select", "option", "optgroup", "textarea"), "div"),
    **dict.fromkeys(("blockquote", "center", "dialog", "dir", "hgroup", "search", "xmp"), "div"),
    **dict.fromkeys(("img", "input", "iframe", "video", "audio", "canvas", "object", "meter", "progress"), "br"),
    **dict.fromkeys(("noscript", "datalist", "noembed", "noframes", "desc", "rt"), "script"),
    **dict.fromkeys(("ul", "ol", "menu", "pre"), "div"),
}
_TABLE_PARTS = ("table", "caption", "thead", "tbody", "tfoot", "tr", "td", "th")
# What stands on lines of its own, and what such things may stand in without being noticed.
_BLOCKS = (
    *("div", "p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "dl", "table", "pre", "blockquote", "address"),
    *("section", "article", "header", "footer", "nav", "main", "aside", "figure", "details", "form", "fieldset"),
    *("button", "select", "textarea", "center", "dialog", "hgroup", "search", "menu", "hr"),
    *("option", "optgroup", "legend", "dir", "xmp"),
)
_CELLS = frozenset({"td", "th"})
_PARTS = ("li", "dt", "dd", "figcaption", "summary")  # of other blocks
_CONTAINERS = frozenset({*_BLOCKS, *_PARTS, *_TABLE_PARTS, "html", "body"}) - _CELLS
# Of the tags that pages use by the hundred nearly all stand where they are no trouble. The parser leaves those out
# faster than they could be looked at; of the others it gives all faster. It keeps the last 16 selectors ready that it
# was asked, and takes any other apart anew: all that are needed for every page should be no more than that.
_USUAL = ("div", "section", "li", "dd", "body")
_SELDOM_ODD = {"div": _USUAL, "p": _USUAL, "li": ("ul", "ol"), "dt": ("dl",), "dd": ("dl",)}
_MANY = tuple(f"{tag}:not({','.join(f'{parent}>{tag}' for parent in parents)})" for tag, parents in _SELDOM_ODD.items())
_FEW = frozenset({*_BLOCKS, *_PARTS} - _SELDOM_ODD.keys())
_ASKED_FOR = tuple(sorted(_FEW | _DISGUISES.keys()))
# Few elements have a style, so they are asked for one before it is looked at. One question takes a quarter less than
# four that are put together by commas.
_MARKED = ":is([hidden],[popover],[role],[style]:is([style*=display i],[style*=visibility i]))"
_HIDDEN_STYLE = re.compile(r"(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))\b", re.IGNORECASE)
# Pages that hide themselves until a script has run are shown to every visitor in the end; templates are never shown.
_NEVER_HIDDEN = frozenset({"html", "body", "template"})
# A footnote's mark or a power. Marks in brackets, and asterisks, are no part of a word as they are.
_RAISED_NUMBER = re.compile(r"\s{0,20}[0-9][0-9\s,;.*)\u2013-]{0,20}")
_LONGEST_RAISED = 40
_RAISED_DIGITS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
# Broken markup makes names like `td<div`, which could not be given back.
_REAL_TAG = re.compile(r"[A-Za-z][\w:.-]*")

# Between two links with nothing between them; no text has this character.
_SEAM = "\ufdd1"
_WORD = re.compile(r"\w+")
_WORD_AT_THE_END = re.compile(r"\w+\Z")
_LONGEST_WORD = 100
_MOST_IN_A_LETTER = 20  # nodes of a link that is one letter
_MOST_WRAPPED = 5  # elements of inline markup around a link
# Links that may follow another one at once: behind it, behind markup that ends with one, or first in inline markup.
_HOLD_LINKS = ("li", "div", "p", "td", "h1", "h2", "h3", "h4", "dt", "dd")
_AFTER_ANOTHER = (
    "a+a,:not(br,a):has(>a:last-child)+a,a+:is(i,span,b,em,small,strong):empty+a"
    f",a:first-child:not({','.join(f'{tag}>a' for tag in _HOLD_LINKS)})"
)
_ICONS = frozenset({"i", "span", "b", "em", "small", "strong"})  # if they are empty: drawn by styles, often to part
_PARTING = _CONTAINERS | _CELLS | {each for each, disguise in _DISGUISES.items() if disguise != "script"}

# The parser nests no deeper than 512 levels; beyond that all becomes a sibling, even the text of a script.
_DEEPEST = 510
_RAW_START = re.compile(r"<(script|style|noscript|iframe)\b[^>]*+>?", re.IGNORECASE)
_RAW_END = {tag: re.compile(rf"</{tag}[^>]*+>?", re.IGNORECASE) for tag in ("script", "style", "noscript", "iframe")}


def find_marked(tree: Tree) -> list[Element]:
    """Return the elements whose attributes may hide them, and those with a role attribute.

    All in one query, for all callers: the parser has no index of attributes and visits every element for
    each query.
    """
    return tree.select(_MARKED)


def visible_text(tree: Tree, source: str, marked: list[Element] | None = None) -> str:
    """Return all words that a visitor can read on the page, in order, with single spaces.

    `tree` is left unchanged. `marked` is for callers that have already selected these elements of the
    tree.
    """
    return tidy(_laid_out(tree, source, marked))


def visible_lines(tree: Tree, source: str) -> str:
    """The same, with the lines of the page as lines: for people and programs that read it whole."""
    return "\n".join(line for line in map(tidy, _laid_out(tree, source).split("\n")) if line)


def _laid_out(tree: Tree, source: str, marked: list[Element] | None = None) -> str:
    if _reaches_the_limit(tree):
        tree, marked = parse(_without_raw_text(source), positions=False, scripting=True), None
    disguise = _Disguise()
    disguise.put_on(tree, find_marked(tree) if marked is None else marked)
    text = tree.to_text(_LAYOUT)
    disguise.take_off()
    if disguise.has_formulas:
        text = text.translate(_INVISIBLE_IN_FORMULAS)
    return _without_seams(text) if disguise.has_seams else text


def tidy(text: str) -> str:
    """One line, single spaces, composed characters, nothing invisible."""
    if not text.isascii():
        for character in INVISIBLE:
            if character in text:
                text = text.replace(character, "")
        # Faster than Python's own, which also takes time in the square of how many marks stand on one letter.
        text = normalize("NFC", text)
    return _collapse_whitespace(text)


class _Disguise:
    """Changes to a tree that can be taken back."""

    def __init__(self) -> None:
        self._disguised: list[tuple[str, list[Element]]] = []  # by the tags they had
        self._hidden: list[tuple[Element, str]] = []
        self._inserted: list[Text] = []
        self._reworded: list[tuple[Text, str]] = []
        self.has_formulas = False
        self.has_seams = False

    def put_on(self, tree: Tree, marked: list[Element]) -> None:
        # All questions before the first change: a change throws the parser's index of tags away.
        all_of = tree.find_all
        # Most of the marked have nothing but a role.
        suspects = [
            element
            for element in marked
            if element.attr("style") or element.attr("hidden") is not None or element.attr("popover") is not None
        ]
        hidden = [element for element in (*suspects, *all_of("dialog")) if is_hidden(element)]
        raised = [text for element in all_of("sup") for text in _raised_number(element)]
        by_tag = {tag: found for tag in _ASKED_FOR if (found := all_of(tag))}
        glued, cells_hold_blocks = _find_odd_blocks(tree, by_tag)
        neighbours = _find_neighbouring_links(tree)
        disguises = [(tag, _DISGUISES[tag], found) for tag, found in by_tag.items() if tag in _DISGUISES]
        if cells_hold_blocks or all_of("caption"):
            disguises += [(tag, "div", all_of(tag)) for tag in _TABLE_PARTS]
        for drawing in _outermost(all_of("svg")):
            glued += drawing.find_all("text")
            hidden += drawing.find_all("title")
            hidden += drawing.find_all("metadata")
        for formula in _outermost(all_of("math")):
            self.has_formulas = True
            hidden += formula.find_all("annotation")
            hidden += formula.find_all("annotation-xml")
        for element in glued:
            self._set_apart(element)
        for link in neighbours:
            self._sew(link)
        for text in raised:
            self._reworded.append((text, text.data))
            text.data = text.data.translate(_RAISED_DIGITS)
        for tag, disguise, elements in disguises:
            self._disguised.append((tag, elements))
            for element in elements:
                element.tag = disguise
        for element in hidden:
            self._hidden.append((element, element.tag))
            element.tag = "script"

    def take_off(self) -> None:
        for text in self._inserted:
            text.extract()
        # Backwards, because a text or an element may have been changed twice.
        for text, written in reversed(self._reworded):
            text.data = written
        for element, tag in reversed(self._hidden):
            element.tag = tag
        for tag, elements in self._disguised:
            for element in elements:
                element.tag = tag

    def _set_apart(self, element: Element) -> None:
        space = Text(" ")
        element.insert_after(space)
        self._inserted.append(space)

    def _sew(self, link: Element) -> None:
        seam = Text(_SEAM)
        link.insert_before(seam)
        self._inserted.append(seam)
        self.has_seams = True


def _find_odd_blocks(tree: Tree, by_tag: Mapping[str, list[Element]]) -> tuple[list[Element], bool]:
    """Return blocks inside inline markup, and True if there are any in table cells.

    Without special handling, the text after such a block would be glued to its last word.
    """
    glued = []
    in_cells = False
    few = [found for tag, found in by_tag.items() if tag in _FEW]
    for block in chain(*map(tree.select, _MANY), *few):
        parent = block.parent
        if type(parent) is not Element or (inside := parent.tag) in _CONTAINERS:
            continue
        if inside in _CELLS:
            in_cells = True
        else:
            glued.append(block)
    return glued, in_cells


def _find_neighbouring_links(tree: Tree) -> list[Element]:
    """Links that begin where another link ends, with no text in between; inline markup around either is looked through.

    Without pairs of which one is a single letter: an initial, or one of an alphabet.
    """
    # Most follow some text, which is soon seen.
    suspects = [link for link in tree.select(_AFTER_ANOTHER) if type(link.previous_sibling) is not Text]
    pairs = [(before, link) for link in suspects if (before := _link_before(link)) is not None]
    return [link for before, link in pairs if not _is_one_letter(before) and not _is_one_letter(link)]


def _link_before(link: Element) -> Element | None:
    node: Any = link
    for _ in range(_MOST_WRAPPED):
        before = node.previous_sibling
        while type(before) is Comment or (type(before) is Element and before.tag in _ICONS and not before.children):
            before = before.previous_sibling
        if before is not None:
            other = _link_at_the_end(before)
            # A link that was closed in the wrong order, as in `<b><a>one</b>word</a>`, has become two that are alike.
            is_torn = node is link and before is not other is not None and link.attrs and other.attrs == link.attrs
            return None if is_torn else other
        node = node.parent
        if type(node) is not Element or node.tag in _PARTING:
            return None
    return None


def _link_at_the_end(node: Any) -> Element | None:
    for _ in range(_MOST_WRAPPED):
        if type(node) is not Element or node.tag in _PARTING:
            return None
        if node.tag == "a":
            return node
        node = node.children[-1] if node.children else None
    return None


def _is_one_letter(link: Element) -> bool:
    said = ""
    for node in islice(link.descendants, _MOST_IN_A_LETTER):
        if type(node) is Text:
            said += node.data.strip()
            if len(said) > 1:
                return False
    return said.isalpha()


def _without_seams(text: str) -> str:
    """Put spaces where neighbouring links meet.

    No space is added where the first link ends and the next begins in lower case and the word formed by both
    occurs elsewhere on the page: then they are parts of one word.
    """
    pieces = [piece for piece in text.split(_SEAM) if piece]
    if not pieces:
        return ""
    first, *others = pieces
    words: set[str] = set()
    kept = [first]
    for piece in others:
        if first[-1].islower() and piece[0].islower():
            words = words or set(_WORD.findall(text.lower()))
            kept.append("" if _joined(first, piece) in words else " ")
        else:
            kept.append(" ")
        kept.append(piece)
        first = piece
    return "".join(kept)


def _joined(first: str, second: str) -> str:
    """The word that the end of one text and the beginning of another would make together, in lower case."""
    ends, begins = _WORD_AT_THE_END.search(first[-_LONGEST_WORD:]), _WORD.match(second[:_LONGEST_WORD])
    return (ends[0] + begins[0]).lower() if ends and begins else ""


def is_hidden(element: Element) -> bool:
    """Return True if an element's own attributes hide it."""
    style = element.attr("style")
    if not (style and _HIDDEN_STYLE.search(style)) and element.attr("hidden") is None and not _is_closed(element):
        return False
    return element.tag not in _NEVER_HIDDEN and _REAL_TAG.fullmatch(element.tag) is not None


def _is_closed(element: Element) -> bool:
    """Return True if the element is closed until a script or a button opens it."""
    return element.attr("open") is None if element.tag == "dialog" else element.attr("popover") is not None


def _outermost(elements: list[Element]) -> list[Element]:
    """Return the elements that are not nested in another of their kind; nested ones are reached from those."""
    return [each for each in elements if not (isinstance(each.parent, Element) and each.parent.closest(each.tag))]


def _raised_number(element: Element) -> list[Text]:
    """The texts of a `<sup>` that is a number at the end of a word. In the middle of one it is left alone."""
    texts: list[Text] = []
    room = _LONGEST_RAISED
    for node in element.descendants:
        if isinstance(node, Text):
            room -= len(node.data)
            texts.append(node)
        if room < 0 or (isinstance(node, Element) and node.tag == "sup"):
            return []
    if _RAISED_NUMBER.fullmatch("".join(text.data for text in texts)) is None:
        return []
    following = element.next_sibling
    if isinstance(following, Element):
        following = next((node for node in following.descendants if isinstance(node, Text)), None)
    return [] if isinstance(following, Text) and following.data[:1].isalpha() else texts


def _reaches_the_limit(tree: Tree) -> bool:
    raw = (*tree.find_all("script"), *tree.find_all("style"), *tree.find_all("noscript"))
    suspects = [each for each in raw if each.attr("src") is None and not each.children]
    return any(sum(1 for _ in each.ancestors) >= _DEEPEST for each in suspects)


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
