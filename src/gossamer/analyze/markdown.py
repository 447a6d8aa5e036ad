"""A page for language models: what it says as Markdown, without menus, banners and the rest of its frame."""

import re
from collections.abc import Callable
from typing import NamedTuple

from turbohtml import Document as Tree
from turbohtml import Element, Markdown, parse

from gossamer.model.document import Document
from gossamer.parse.decode import decode
from gossamer.parse.metadata import base_of
from gossamer.parse.text import INVISIBLE, tidy

# What belongs to the frame of a site and not to the page. A header or footer of an article is the article's.
_CONTENT = "main,article,[role~=main i]"
_FRAME = ",".join(
    (
        "script,style,noscript,template,iframe,svg,canvas,object,embed,dialog,form,button,input,select,textarea",
        "nav,aside,menu,[role~=navigation i],[role~=complementary i],[role~=search i],[role~=dialog i]",
        "[role~=banner i],[role~=contentinfo i],[hidden],[aria-hidden=true i]",
        f"header:not(:is({_CONTENT}) *),footer:not(:is({_CONTENT}) *)",
        "[style*='display:none' i],[style*='display: none' i]",
        "[id*=cookie i],[class*=cookie-b i],[class*=cookie-c i],[id*=consent i],[class*=consent i]",
        "[class~=breadcrumb i],[class~=breadcrumbs i],[class~=sidebar i],[class~=share i],[class~=social i]",
        "[class~=skip-link i],[class~=newsletter i],[class~=advertisement i],[class~=ads i]",
    )
)
_NEVER_FRAME = frozenset({"html", "body", "main", "article"})


def _wrapped(mark: str) -> Callable[[Element, str], str]:
    """Emphasis in one way only. The library writes tags where a strict reader might not see the marks as such."""
    return lambda _, text: f"{mark}{text.strip()}{mark}" if text.strip() else text


_STYLE = Markdown(
    escaping=Markdown.Escaping(underscores=False),
    tables=Markdown.Tables(cell_blocks="text"),
    converters={tag: _wrapped("*" if tag in ("em", "i") else "**") for tag in ("em", "i", "strong", "b")},
)
_ODD_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", **dict.fromkeys(INVISIBLE, "")})
_ENOUGH = 0.5  # of the words outside of links: a main part with less is only a part
_MENU = 0.4  # of words that are links, above which what stands around the main part is a menu
# Signs beside headings that only lead to themselves.
_PERMALINKS = frozenset({"¶", "#", "§", "🔗", "link"})
_FENCE = "```"
_MANY_LINES = re.compile(r"\n{3,}")
_LEAST_MAIN = 200  # characters


def markdown_of(doc: Document) -> str:
    """The page's own content. Addresses in it are whole, so that it can be read anywhere."""
    tree = parse(decode(doc.body, doc.headers.get("content-type", "")) or "", positions=False, scripting=True)
    base = base_of(tree, doc.url)
    for element in tree.select(_FRAME):
        if element.tag not in _NEVER_FRAME:
            element.decompose()
    part = _main_part(tree)
    if part is None:
        return ""
    for link in part.select("a[href^='#']"):
        if link.text.strip() in _PERMALINKS:
            link.decompose()
        else:
            link.unwrap()
    part.resolve_links(base)
    text = part.to_markdown(_STYLE).replace("&#160;", " ").translate(_ODD_SPACES).strip()
    return _with_title(_closer(text), part, doc)


def _closer(text: str) -> str:
    """Never more than one empty line, but in code, where they may mean something."""
    pieces = text.split(_FENCE)
    return _FENCE.join(piece if at % 2 else _MANY_LINES.sub("\n\n", piece) for at, piece in enumerate(pieces))


def _main_part(tree: Tree) -> Element | None:
    body = tree.find("body") or tree.root
    if body is None:
        return None
    whole = _words(body)
    tops = [one for one in body.select(_CONTENT) if (parent := one.parent) is None or parent.closest(_CONTENT) is None]
    if len(tops) == 1 and _is_most(_words(tops[0]), whole):
        return tops[0]
    guessed = body.main_content()
    if guessed is None or not _is_most(_words(guessed), whole):
        return body
    return _widened(guessed, body)


class _Words(NamedTuple):
    """Characters of text, and how many of them are links."""

    all: int
    linked: int

    @property
    def plain(self) -> int:
        return self.all - self.linked


def _words(element: Element) -> _Words:
    return _Words(len(tidy(element.text)), sum(len(tidy(link.text)) for link in element.find_all("a")))


def _is_most(part: _Words, whole: _Words) -> bool:
    return part.all >= _LEAST_MAIN and part.plain >= whole.plain * _ENOUGH


def _widened(part: Element, body: Element) -> Element:
    """With what stands around it, title and first words above all, until that is a menu."""
    inner = _words(part)
    while part is not body and isinstance(parent := part.parent, Element):
        outer = _words(parent)
        if outer.linked - inner.linked > (outer.all - inner.all) * _MENU:
            break
        part, inner = parent, outer
    return part


def _with_title(text: str, part: Element, doc: Document) -> str:
    """A heading that stands outside of the content is still what the page is called."""
    if not text or part.find("h1") is not None or text.startswith("# "):
        return text
    return f"# {doc.title}\n\n{text}" if doc.title else text
