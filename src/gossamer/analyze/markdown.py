"""A page for language models: what it says as Markdown, without menus, banners and the rest of its frame."""

import re
from collections.abc import Callable
from copy import deepcopy

from turbohtml import Document as Tree
from turbohtml import Element, Markdown

from gossamer.analyze import main_part
from gossamer.model.document import Document
from gossamer.model.record import without_controls
from gossamer.parse.links import is_script_or_data
from gossamer.parse.metadata import base_of
from gossamer.parse.text import INVISIBLE


def _wrapped(mark: str) -> Callable[[Element, str], str]:
    """Emphasis in one way only. The library writes tags where a strict reader might not see the marks as such."""
    return lambda _, text: f"{mark}{text.strip()}{mark}" if text.strip() else text


_STYLE = Markdown(
    escaping=Markdown.Escaping(underscores=False),
    tables=Markdown.Tables(cell_blocks="text"),
    converters={tag: _wrapped("*" if tag in ("em", "i") else "**") for tag in ("em", "i", "strong", "b")},
)
# Signs next to headings that only link to the heading.
_PERMALINKS = frozenset({"¶", "#", "§", "🔗", "link"})
_FENCE = "```"
_LATER = ("data-src", "data-lazy-src", "data-original")
_MEANINGFUL = re.compile(r"[\\`*\[\]<]")
_MANY_LINES = re.compile(r"\n{3,}")
_WORD = re.compile(r"\w")
# Chinese, Japanese, Korean: a line of it has few characters.
_WIDE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_MOSTLY = 0.2  # of a page's characters, between addresses and menus in other letters
# What would begin a numbered list if a space followed.
_NUMBER = re.compile(r"(?<![^\s>])(\d{1,9})\\\.(?=\S)")
_UNSEEN = ",".join(main_part.NEVER)
# What a page says of itself if it is an article, besides JSON-LD. Much else claims to be one by og:type.
_MARKS = "meta[property='article:published_time'],[itemprop~=articleBody],[itemtype$=Article],[itemtype$=BlogPosting]"
_UNSEEN_OR_MARKS = f"{_UNSEEN},{main_part.HIDDEN},{_MARKS}"
_JSON_LD = "application/ld+json"
_ARTICLE_TYPE = re.compile(r'"@type"\s{0,9}:\s{0,9}\[?\s{0,9}"(?:[A-Za-z]{0,30}Article|(?:Live)?BlogPosting)"')


def markdown_of(doc: Document) -> str:
    """The page's own content. Addresses in it are whole, so that it can be read anywhere."""
    text = _rendered(doc, only_main=True)
    return text if _WORD.search(text) else whole_markdown_of(doc)


def whole_markdown_of(doc: Document) -> str:
    """The page with its menus, banners and footers."""
    text = _rendered(doc, only_main=False)
    return text if _WORD.search(text) else _literal(doc.text)


def _rendered(doc: Document, *, only_main: bool) -> str:
    tree: Tree = deepcopy(doc.tree)
    body = tree.find("body") or tree.root
    if body is None:
        return ""
    base = base_of(tree, doc.url)
    is_article = False
    for element in tree.select(_UNSEEN_OR_MARKS if only_main else _UNSEEN):
        tag = element.tag
        if tag == "script":
            if not is_article and str(element.attr("type")).lower() == _JSON_LD:
                is_article = _ARTICLE_TYPE.search(element.text) is not None
        elif tag == "meta" or element.attr("itemprop") is not None or element.attr("itemtype") is not None:
            is_article = True
            if tag not in main_part.NEVER:
                continue
        element.decompose()
    if only_main:
        main_part.clear(body, article=is_article, wide=_is_wide(doc.text))
    for link in body.select("a[href^='#']"):
        if link.text.strip() in _PERMALINKS:
            link.decompose()
        else:
            link.unwrap()
    _drop_unsafe_addresses(body)
    body.resolve_links(base)
    text = _tidy(body.to_markdown(_STYLE).replace("&#160;", " "))
    return _with_title(_closer(text.strip()), body, doc)


def _is_wide(text: str) -> bool:
    sample = text[:4_000]
    return not sample.isascii() and len(_WIDE.findall(sample)) > len(sample) * _MOSTLY


def _drop_unsafe_addresses(body: Element) -> None:
    """Remove script and data addresses.

    Links keep their text. Lazy-loaded images get their real address, other such images are removed.
    """
    for link in body.find_all("a"):
        if is_script_or_data(link.attr("href")):
            link.unwrap()
    for image in body.find_all("img"):
        if is_script_or_data(image.attr("src")):
            later = next(filter(None, map(image.attr, _LATER)), None)
            if later is None or is_script_or_data(later):
                image.decompose()
            else:
                image.attrs["src"] = later


def _tidy(text: str) -> str:
    text = without_controls(text)
    if text.isascii():
        return text
    for character in INVISIBLE:
        if character in text:
            text = text.replace(character, "")
    return text.replace("\u00a0", " ").replace("\u202f", " ")


def _closer(text: str) -> str:
    """Never more than one empty line, and numbers as they are. In code both may mean something."""
    pieces = text.split(_FENCE)
    pieces[::2] = [_MANY_LINES.sub("\n\n", piece) for piece in pieces[::2]]
    if "\\." in text:
        pieces[::2] = [_NUMBER.sub(r"\1.", piece) for piece in pieces[::2]]
    return _FENCE.join(pieces)


def _with_title(text: str, body: Element, doc: Document) -> str:
    """Add the page's title heading if it is outside of the content."""
    if not text or body.find("h1") is not None or text.startswith("# "):
        return text
    return f"# {_literal(doc.title)}\n\n{text}" if doc.title else text


def _literal(text: str) -> str:
    """Escape characters that Markdown would interpret."""
    return _tidy(_MEANINGFUL.sub(r"\\\g<0>", text))
