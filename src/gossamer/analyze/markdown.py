"""A page for language models: what it says as Markdown, without menus, banners and the rest of its frame."""

import re
from collections.abc import Callable

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
# Of what is left without the frame, a main part with less is only a part: as authors mark it, and as it is guessed.
_ENOUGH_MARKED, _ENOUGH_GUESSED = 0.5, 0.9
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
    whole = len(tidy(body.text))
    marked = body.select(_CONTENT)
    tops = [one for one in marked if one.closest(_CONTENT) is one and not _inside(one, marked)]
    candidates = [(tops[0] if len(tops) == 1 else None, _ENOUGH_MARKED), (body.main_content(), _ENOUGH_GUESSED)]
    for one, enough in candidates:
        if one is not None and (said := len(tidy(one.text))) >= _LEAST_MAIN and said >= whole * enough:
            return one
    return body


def _inside(element: Element, others: list[Element]) -> bool:
    return any(ancestor in others for ancestor in element.ancestors)


def _with_title(text: str, part: Element, doc: Document) -> str:
    """A heading that stands outside of the content is still what the page is called."""
    if not text or part.find("h1") is not None or text.startswith("# "):
        return text
    return f"# {doc.title}\n\n{text}" if doc.title else text
