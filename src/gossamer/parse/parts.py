"""Parts of a page that are read separately: its headings, menus and footers, single elements.

The tree of the whole page is never changed here. What a part says is read from a small page made of the parts alone, so
the rules of what a visitor can see are those of `visible_text` and no others.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import NamedTuple

from turbohtml import Document as Tree
from turbohtml import Element, parse

from gossamer.parse.text import is_hidden, tidy, visible_text

# More of them than any page has that was written for people.
MOST_HEADINGS = 2_000
MOST_FURNITURE = 500
MOST_META = 500
_MOST_VEILS = 20  # elements around one that may hide it

_LEVELS = ("h1", "h2", "h3", "h4", "h5", "h6")
# A header or footer of an article belongs to the article; one of the page is the same on every page of a site. What
# has one of its own is what the standard calls sectioning content and sectioning roots, and the main part.
# Few elements have a role or a style, so they are asked for one before it is looked at.
_CONTENT = (
    "main,article,section,aside,blockquote,details,dialog,fieldset,figure,td,"
    "[role]:is([role~=main i],[role~=article i])"
)
_OF_THE_PAGE = f":not(:is({_CONTENT}) *)"
_LOWER_ROLES = "[role~=navigation i],[role~=contentinfo i]"
_IN_LOWER_FURNITURE = f"nav,footer{_OF_THE_PAGE},[role]:is({_LOWER_ROLES})"
_IN_FURNITURE = f"nav,header{_OF_THE_PAGE},footer{_OF_THE_PAGE},[role]:is({_LOWER_ROLES},[role~=banner i])"
_ROLES = frozenset({"navigation", "banner", "contentinfo"})
# Elements that may hide their content. A template is not part of the page: nothing in it is ever shown.
_MAY_HIDE = (
    "template,"
    ":is([hidden],[popover],dialog:not([open]),[style]:is([style*=none i],[style*=visibility i])):not(html,body)"
)
# All but markup that neither parts words nor hides them. Neighbouring links part words.
_NOT_SIMPLE = (
    ":not(:is(a,abbr,b,code,em,i,small,span,strong,u):not([hidden],[style],[popover])),a+a,a+:empty+a,:has(>a)+:has(>a)"
)

_SPACES = re.compile(r"[ \t\n\f\r]+")  # what parts the words of an attribute

# A character that no text contains, and that joins nothing: what stands round it are two texts.
APART = "\ufdd0"
_FENCE = f"<p>{APART}</p>"


class Landmarks(NamedTuple):
    """Elements that are asked about once it is known that a keyword is on the page.

    They are looked up while the parser's index of tags is there, which `visible_text` throws away.
    """

    headings: list[Element]  # every one, wherever it stands
    menus: list[Element]
    ends: list[Element]  # headers and footers, of whatever
    roles: list[Element]  # what is furniture by its role
    metas: list[Element]
    scripts: list[Element]
    has_readings: bool  # small ones next to characters, in the middle of words


def find_landmarks(tree: Tree, marked: Iterable[Element]) -> Landmarks:
    """`marked` are the elements of the page that name their role, perhaps among others."""
    all_of = tree.find_all
    return Landmarks(
        list(islice(chain.from_iterable(map(all_of, _LEVELS)), MOST_HEADINGS)),
        all_of("nav", limit=MOST_FURNITURE),
        [*all_of("header", limit=MOST_FURNITURE), *all_of("footer", limit=MOST_FURNITURE)],
        [element for element in marked if (role := element.attr("role")) and _is_furniture(role)],
        all_of("meta", limit=MOST_META),
        all_of("script", limit=MOST_META),
        bool(all_of("rt", limit=1)),
    )


@lru_cache(maxsize=256)
def _is_furniture(role: str) -> bool:
    return not _ROLES.isdisjoint(_SPACES.split(role.lower()))


def is_of_the_content(heading: Element) -> bool:
    """Return True if a heading belongs to the content, not to a menu or footer; an `<h1>` in the header does."""
    return heading.closest(_IN_LOWER_FURNITURE if heading.tag == "h1" else _IN_FURNITURE) is None


def all_furniture(landmarks: Landmarks) -> list[Element]:
    """Return navigation and the page's own header and footer, including those nested inside another of them."""
    of_the_page = [element for element in landmarks.ends[:MOST_FURNITURE] if element.closest(_CONTENT) is None]
    found = [*landmarks.menus, *of_the_page, *landmarks.roles]
    return list(dict.fromkeys(found[:MOST_FURNITURE]))


def is_outermost(element: Element) -> bool:
    """Return True if a menu, header or footer is not inside another one, which would be read twice otherwise."""
    outer = element.parent
    return not isinstance(outer, Element) or outer.closest(_IN_FURNITURE) is None


def texts_of(elements: Sequence[Element]) -> list[str]:
    """Return the visible text of each of these elements, with single spaces; "" for hidden ones."""
    texts = [_text_at_a_glance(element) for element in elements]
    odd = [at for at, text in enumerate(texts) if text is None]
    for at, text in zip(odd, _rendered([elements[at] for at in odd]), strict=True):
        texts[at] = text
    return [text or "" for text in texts]


def _text_at_a_glance(element: Element) -> str | None:
    """The text of an element that holds nothing but words and the simplest markup; None of any other."""
    if element.closest(_MAY_HIDE) is not None:
        return "" if element.closest("template") is not None else None
    return tidy(element.text) if element.select_one(_NOT_SIMPLE) is None else None


def _rendered(elements: Sequence[Element]) -> list[str]:
    if not elements:
        return []
    sources = [_source_of(element) for element in elements]
    whole = _FENCE.join(sources)
    texts = _render(whole).split(APART)
    if len(texts) != len(elements) or "<plaintext" in whole:
        # Markup that swallows whatever follows it: each gets a page of its own.
        texts = [_render(source) for source in sources]
    return [text.strip() for text in texts]


def _source_of(element: Element) -> str:
    """The markup of an element that is in no template; nothing if an element around it hides it."""
    outer = element.parent
    for _ in range(_MOST_VEILS):
        veil = outer.closest(_MAY_HIDE) if isinstance(outer, Element) else None
        if veil is None:
            break
        if is_hidden(veil):
            return ""
        outer = veil.parent
    return element.html.replace(APART, "")


def _render(source: str) -> str:
    return visible_text(parse(source, positions=False, scripting=True), source)
