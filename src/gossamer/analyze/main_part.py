"""The part of a page that is its content: what belongs to the site around it is taken out of the tree.

A page is looked at as a tree of blocks, each with its characters, how many of them are links, and how many are prose:
text that runs on for a line or more. Every pass is linear in the size of the page.

1. The frame goes: menus, footers, banners, share bars, comments, known by tag, role, class and id. What holds more than
   half of the words that are not links is never frame, whatever it is called.
2. The core is found: from the body downwards, always into the block that holds most of the prose.
3. Around the core, titles, paragraphs and parts like the core's own stay. Of a page that says it is an article all else
   goes, and lists of links and teasers within the core go too. Of other pages only lists of links around the core go.

A page with little prose (a list, a shop's front page) only loses its frame.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Set
from itertools import pairwise

from turbohtml import Element, Text

from gossamer.parse.text import tidy

NEVER = (
    *("script", "style", "noscript", "template", "iframe", "svg", "canvas", "object", "embed", "select", "textarea"),
    *("input", "button", "dialog"),
)
"""Tags of elements that are not text, or only text of controls."""

HIDDEN = (
    ":is(span,a,b,i,em,strong,small,label,time,font)[hidden],span[aria-hidden=true i],"
    "span[style*='display:none' i],span[style*='display: none' i]"
)
"""Selector of inline markup that is not shown."""

_LINE, _WIDE_LINE = 60, 25  # characters from which on text is prose; of scripts that need fewer
_LEAST_CORE, _LEAST_WIDE_CORE = 250, 120  # characters of prose in a core
_ENOUGH = 0.5  # of the words that are no links: a core with less is only a part of the content
_MOST = 0.6  # of a block's prose: a part with so much is where the content is
_LINKED = 0.5  # of a block's characters: with more it is a list of links
_HARDLY_LINKED = 0.3
_FEW_LINKS = 3  # from which on links are a list
_CARD = 0.9  # of the characters in inline markup that are links
_SMALL, _TINY = 0.2, 0.1  # of the page's prose: up to that a block's name is believed
_TOO_LITTLE = 0.15  # of the words that are no links: if less is left, the names were misleading
_HARDLY_ANYTHING = 0.05  # of all words: if less is left, the page is its menu
_LONG_INLINE = 300  # characters from which on inline markup is looked into
_LONGEST_TEASER = 1_200  # characters of prose under a heading that leads elsewhere
_DOUBT = 0.2  # what the prose of a teaser counts

_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_LEAVES = _HEADINGS | {"p", "pre", "figcaption", "caption", "summary"}
_LISTS = frozenset({"ul", "ol", "nav", "menu", "footer"})
_INLINE = frozenset(
    {"a", "abbr", "acronym", "b", "bdi", "bdo", "big", "br", "cite", "code", "data", "del", "dfn", "em", "font", "hr"}
    | {"i", "img", "ins", "kbd", "label", "mark", "nobr", "picture", "q", "rp", "rt", "ruby", "s", "samp", "small"}
    | {"span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"}
)

_FRAME_TAGS = frozenset({"nav", "aside", "menu", "footer"})
_FRAME_ROLES = frozenset(
    {"banner", "complementary", "contentinfo", "dialog", "menu", "menubar", "navigation", "search"}
)
_HIDDEN_STYLE = re.compile(r"(?:^|[;\s])display\s*:\s*none\b", re.IGNORECASE)
# Class names and ids: related-posts, relatedPosts, related_posts. Two letters only where they stand alone, since many
# sites have names like `adFHlH`.
_NAME_WORD = re.compile(r"[A-Z]?[a-z]{3,}|(?<![A-Za-z])[a-z]{2}(?![A-Za-z])|[A-Z]{3,}")
_NOTICES = frozenset({"cookie", "cookies", "consent", "gdpr", "onetrust", "usercentrics"})
_OTHER_PAGES = frozenset(
    {"comment", "commentlist", "comments", "disqus", "gallery", "mostpopular", "mostread", "newsletter", "newsletters"}
    | {"outbrain", "popular", "recirc", "recommendations", "recommended", "related", "relatedarticles"}
    | {"relatedcontent", "relatedlinks", "relatedposts", "slideshow", "taboola", "teaser", "teasers", "trending"}
)
_FRAME_NAMES = frozenset(
    {"ad", "ads", "adsbygoogle", "adsense", "adslot", "advert", "advertisement", "advertising", "banner", "bio"}
    | {"breadcrumb", "breadcrumbs", "carousel", "copyright", "donate", "dropdown", "feedback", "follow", "footer"}
    | {"hashtags", "keywords", "login", "masthead", "menu", "modal", "nav", "navbar", "navigation", "overlay", "pager"}
    | {"pagination", "popup", "print", "promo", "promos", "promotion", "rail", "rating", "reply", "respond", "search"}
    | {"share", "sharebar", "shares", "sharing", "sidebar", "signin", "signup", "skip", "social", "sponsor"}
    | {"sponsored", "subscribe", "subscription", "survey", "taglist", "tags", "toolbar", "tooltip", "topics"}
)
_MENU_NAMES = frozenset(
    {"breadcrumb", "breadcrumbs", "dropdown", "footer", "header", "masthead", "menu", "menus", "modal", "nav", "navbar"}
    | {"navigation", "overlay", "popup", "sidebar", "toolbar"}
)
_FRAME_ENDINGS = ("comments", "gallery", "newsletter", "sidebar", "slideshow")
_CONTENT_NAMES = frozenset(
    {"article", "body", "column", "container", "content", "entry", "layout", "main", "page", "post", "story", "text"}
    | {"wrapper"}
)
_NOTE_NAMES = frozenset({"admonition", "callout", "caution", "note", "tip", "warning"})


class Block:
    """A block-level element and its content. Sizes are in characters."""

    __slots__ = (
        "chars",
        "element",
        "elsewhere",
        "gone",
        "inside",
        "is_menu",
        "linked",
        "links",
        "looked_at",
        "outer",
        "own",
        "own_linked",
        "own_links",
        "own_prose",
        "prose",
        "tag",
        "teased",
        "teases",
        "titled",
    )

    # Without what is in the blocks inside it; and with that, which `_add_up` sets.
    own: int
    own_linked: int
    own_links: int
    own_prose: int
    chars: int
    linked: int
    links: int
    prose: int
    teased: int  # how much of its prose, and of its words, is teasers of other pages
    elsewhere: int

    def __init__(self, element: Element, tag: str, outer: "Block | None") -> None:
        self.element = element
        self.tag = tag
        self.outer = outer
        self.inside: list[Block] = []
        self.own = self.own_linked = self.own_links = self.own_prose = 0
        self.teases = 0  # how many levels up it makes a teaser of what it stands in
        self.titled = tag == "h1"
        self.is_menu = self.looked_at = self.gone = False

    @property
    def plain(self) -> int:
        return self.chars - self.linked

    @property
    def is_list_of_links(self) -> bool:
        return self.links > 0 and self.linked > self.chars * _LINKED

    def kept(self) -> "Iterator[Block]":
        return (block for block in self.inside if not block.gone)


def clear(body: Element, *, article: bool, wide: bool = False) -> None:
    """Take everything out of `body` that is not the page's content. What `NEVER` names must be gone already.

    `article`: the page says that it is one. `wide`: its script needs few characters for a line of text.
    """
    for node in body.children:
        if type(node) is Element and node.tag == "a" and str(node.attr("href") or "").startswith("#"):
            node.extract()  # to skip to the content, which comes now anyway
    blocks = _read(body, _WIDE_LINE if wide else _LINE)
    top = blocks[0]
    _add_up(blocks)
    before = (top.chars, top.plain)
    _drop_frame(top)
    _add_up(blocks)
    if top.prose < _LEAST_CORE and _give_back(blocks, *before):
        _add_up(blocks)
    path = _path_to_core(top)
    core = path[-1]
    if (
        core.prose >= (_LEAST_WIDE_CORE if wide else _LEAST_CORE)
        and core.plain >= (top.plain - top.elsewhere) * _ENOUGH
    ):
        _drop_around(path, _belongs if article else _may_belong, most=top.chars if article else top.chars // 2)
        if article:
            _drop_within(core.inside, core)
            _drop_labels(blocks)
    elif top.titled:
        _drop_above_title(top)
    for block in blocks:
        if block.gone and not (block.outer and block.outer.gone):
            block.element.decompose()
    for block in blocks:
        block.outer = None  # blocks that know each other would keep the tree until a collection


def _read(body: Element, line: int) -> list[Block]:
    """All blocks, outer ones before what is in them."""
    blocks = []
    waiting = [Block(body, "body", None)]
    while waiting:
        block = waiting.pop()
        blocks.append(block)
        if block.outer is not None:
            block.outer.inside.append(block)
        if block.tag in _LEAVES:
            _read_leaf(block, line)
        elif not block.is_menu:
            deeper = _read_parts(block, line)
            deeper.reverse()
            waiting += deeper
    return blocks


def _read_parts(block: Block, line: int) -> list[Block]:
    """The blocks in one. Its own are the words between them."""
    text = inline = 0
    deeper = []
    for node in block.element.children:
        if type(node) is Text:
            data = node.data
            text += 0 if data.isspace() else len(data.strip())
        elif type(node) is Element:
            tag = node.tag
            if tag not in _INLINE or ((size := _size(node)) >= _LONG_INLINE and tag != "a"):
                deeper.append(_part(node, tag, block))
            elif size:
                inline += size
                links = [node] if tag == "a" else node.find_all("a")
                block.own_linked += sum(map(_size, links))
                block.own_links += len(links)
    block.own = text + inline
    if text >= line and block.own_linked < block.own * _LINKED:
        block.own_prose = block.own
    return deeper


def _size(element: Element) -> int:
    """Its characters, without those that only indent the source."""
    text = element.text
    return len(tidy(text)) if "\n" in text or "  " in text else len(text)


def _part(element: Element, tag: str, outer: Block) -> Block:
    """Create the block of a child element. Only the outermost list is tested for being a menu."""
    block = Block(element, tag, outer)
    block.looked_at = outer.looked_at
    if tag in _LISTS and not outer.looked_at:
        block.looked_at = True
        links = element.find_all("a")
        if len(links) >= _FEW_LINKS:
            size, linked = _size(element), sum(_size(link) for link in links)
            if linked > size * _LINKED:
                block.is_menu = True
                block.own, block.own_linked, block.own_links = size, linked, len(links)
    return block


def _read_leaf(block: Block, line: int) -> None:
    element = block.element
    block.own = size = _size(element)
    links = element.find_all("a") if size else []
    if links:
        block.own_linked = sum(_size(link) for link in links)
        block.own_links = len(links)
        if block.tag in _HEADINGS:
            leads_away = not str(links[0].attr("href") or "#").startswith("#")
            block.teases = 2 if leads_away and block.own_linked >= size * _CARD else 0
        elif len(links) > _FEW_LINKS and size - block.own_linked >= line:
            _drop_cards(block, line)
    if block.tag in ("p", "pre") and block.own >= line and block.own_linked < block.own * _LINKED:
        block.own_prose = block.own


def _drop_cards(block: Block, line: int) -> None:
    """Replace groups of links in running text, which open on hover, by their first link."""
    for node in block.element.children:
        if type(node) is not Element or (size := _size(node)) <= line:
            continue
        links = node.find_all("a")
        linked = sum(_size(link) for link in links)
        if len(links) < _FEW_LINKS or linked < size * _CARD:
            continue
        first = _size(links[0])
        node.replace_with(links[0])
        block.own -= size - first
        block.own_linked -= linked - first
        block.own_links -= len(links) - 1


def _add_up(blocks: list[Block]) -> None:
    """Sizes of all blocks from their own and from those inside them that are still there."""
    for block in blocks:
        block.chars = block.own
        block.linked = block.own_linked
        block.links = block.own_links
        block.prose = block.own_prose
        block.teased = block.elsewhere = 0
    for block in reversed(blocks):
        outer = block.outer
        if outer is None or block.gone:
            continue
        if block.teases:
            if block.tag not in _HEADINGS and block.prose < _LONGEST_TEASER:
                block.prose = block.teased = int(block.prose * _DOUBT)
                block.elsewhere = block.plain
            outer.teases = max(outer.teases, block.teases - 1)
        outer.chars += block.chars
        outer.linked += block.linked
        outer.links += block.links
        outer.prose += block.prose
        outer.teased += block.teased
        outer.elsewhere += block.elsewhere
        if block.titled:
            outer.titled = True


def _drop_frame(top: Block) -> None:
    half, prose, most = top.plain / 2, top.prose, top.chars // 2
    waiting = list(top.inside)
    while waiting:
        block = waiting.pop()
        if not block.chars:
            continue
        if block.tag in _LEAVES:
            block.gone = block.plain <= half and _is_hidden(block.element)
        elif block.plain <= half and _is_frame(block, prose, most):
            block.gone = True
        else:
            waiting += block.inside


def _is_frame(block: Block, prose: int, most: int) -> bool:
    """Return True if a block belongs to the frame of the page (menu, footer, notice).

    `prose` is the page's; a block longer than `most` must be named like a menu.
    """
    element = block.element
    names = f"{element.attr('class') or ''} {element.attr('id') or ''}"
    words = {word.lower() for word in _NAME_WORD.findall(names)} if len(names) > 1 else frozenset[str]()
    if not words.isdisjoint(_NOTICES):
        return True
    if block.prose * 2 > prose:
        return False
    if block.tag in _FRAME_TAGS:
        return block.tag != "aside" or words.isdisjoint(_NOTE_NAMES)
    if block.tag in ("header", "form"):
        return block.prose <= prose * _TINY and not block.titled
    if element.attr("role") in _FRAME_ROLES or _is_hidden(element):
        return True
    may_be = bool(words) and (block.chars <= most or not words.isdisjoint(_MENU_NAMES))
    return may_be and _is_named_as_frame(words, block, prose)


def _is_named_as_frame(words: Set[str], block: Block, prose: int) -> bool:
    if not words.isdisjoint(_OTHER_PAGES):
        return True
    if words.isdisjoint(_FRAME_NAMES):
        return block.prose <= prose * _SMALL and any(word.endswith(_FRAME_ENDINGS) for word in words)
    if not words.isdisjoint(_CONTENT_NAMES) and block.linked < block.chars * _LINKED:
        return block.prose <= prose * _TINY
    return block.prose <= prose * _SMALL


def _is_hidden(element: Element) -> bool:
    attrs = element.attrs
    if not attrs:
        return False
    if "hidden" in attrs or attrs.get("aria-hidden") == "true":
        return True
    style = attrs.get("style")
    return bool(style) and _HIDDEN_STYLE.search(str(style)) is not None


def _give_back(blocks: list[Block], all_chars: int, all_plain: int) -> bool:
    """Undo removals if hardly any text is left; return True in that case.

    The largest removed blocks are restored, until half of the page's text is there again.
    """
    top = blocks[0]
    taken = [block for block in blocks if block.gone]
    if top.plain < all_plain * _TOO_LITTLE:
        missing = all_plain / 2 - top.plain
        taken = sorted((block for block in taken if block.tag not in _FRAME_TAGS), key=lambda block: -block.plain)
        sizes = [block.plain for block in taken]
    elif top.chars < all_chars * _HARDLY_ANYTHING:
        missing = all_chars / 2 - top.chars
        taken.sort(key=lambda block: -block.chars)
        sizes = [block.chars for block in taken]
    else:
        return False
    for block, size in zip(taken, sizes, strict=True):
        if missing <= 0:
            break
        block.gone = False
        missing -= size
    return True


def _path_to_core(top: Block) -> list[Block]:
    """Return the path from the top to the block that holds the content, which comes last."""
    path = [top]
    while inside := [block for block in path[-1].kept() if block.tag not in _LEAVES]:
        best = max(inside, key=lambda block: block.prose)
        if not best.prose or best.prose < path[-1].prose * _MOST:
            break
        path.append(best)
    return path


def _drop_around(path: list[Block], belongs: Callable[[Block, Block, bool], bool], *, most: int) -> None:
    """Drop the blocks around the path to the core that are not part of it.

    A block of more than `most` characters is never dropped as frame: a table of contents may be all that
    a page is about.
    """
    for outer, way in pairwise(path):
        if outer.own and not outer.own_prose:
            _drop_loose(outer)
        is_before = True
        for block in outer.kept():
            if block is way:
                is_before = False
            elif is_before and block.titled and block.tag not in _HEADINGS:
                _drop_within(block.inside, path[-1])
            elif block.chars <= most and not belongs(block, way, is_before):
                block.gone = True


def _belongs(block: Block, way: Block, is_before: bool) -> bool:
    """Return True if a block next to the path to an article's core is part of the article."""
    if block.tag in _HEADINGS:
        return block.tag == "h1" or (is_before and not block.is_list_of_links)
    if not block.prose or block.linked > block.chars * _HARDLY_LINKED:
        return False
    return block.tag in _LEAVES or (block.tag == way.tag and _first_name(block) == _first_name(way))


def _may_belong(block: Block, way: Block, is_before: bool) -> bool:
    """Return True if a block next to the path may belong to the content of a page that is not an article.

    There a price or an address may be anywhere, so this is less strict than `_belongs`.
    """
    if block.teases or block.elsewhere > block.plain / 2:
        return block.tag in _HEADINGS
    return block.links < _FEW_LINKS or not block.is_list_of_links


def _first_name(block: Block) -> str:
    return str(block.element.attr("class") or "").partition(" ")[0]


def _drop_loose(block: Block) -> None:
    """Words between the parts of a page: a link to skip to its content, or a line of advertising."""
    for node in block.element.children:
        if type(node) is Text or (type(node) is Element and node.tag in _INLINE and _size(node) < _LONG_INLINE):
            node.extract()


def _drop_within(blocks: Iterable[Block], core: Block) -> None:
    """Lists of links, and teasers where there is enough besides."""
    teasers_go = core.prose - core.teased >= max(_LEAST_CORE, core.teased)
    waiting = [block for block in blocks if not block.gone]
    while waiting:
        block = waiting.pop()
        if block.tag in _LEAVES:
            block.gone = block.links >= _FEW_LINKS and block.is_list_of_links and block.tag not in _HEADINGS
        elif (block.is_list_of_links or (teasers_go and block.teases)) and block.prose <= core.prose * _TINY:
            block.gone = True
        else:
            waiting += block.kept()


def _drop_labels(blocks: list[Block]) -> None:
    """Remove headings whose sections were removed."""
    for block in blocks:
        follower_is_gone = False
        for part in reversed(block.inside):
            if part.gone:
                follower_is_gone = True
            elif part.chars:
                part.gone = follower_is_gone and part.tag in _HEADINGS and part.tag != "h1"
                follower_is_gone = part.gone


def _drop_above_title(top: Block) -> None:
    """Lists of links above the title of a page."""
    block = top
    while block.tag != "h1":
        for part in block.kept():
            if part.titled:
                block = part
                break
            if part.is_list_of_links:
                part.gone = True
        else:
            return
