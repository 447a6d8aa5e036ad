"""A slow reader of pages whose rightness can be seen: html.parser for the text, plain searching for the count.

It shares nothing with the sample web's own counting, nor with the crawler's.
"""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

_INLINE = frozenset("a abbr b code em font i img mark small span strong u wbr".split())  # noqa: SIM905
_FRAME = frozenset(("nav", "header", "footer"))
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_SILENT = frozenset(("script", "style", "template", "noscript"))
_VOID = frozenset("area base br hr img input link meta wbr".split())  # noqa: SIM905
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_IGNORED = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))
_EDGE = "\x1e"  # where one block ends and the next begins
_CHARSET = re.compile(rb"<meta[^>]*charset=[\"']?([\w-]+)", re.IGNORECASE)


@dataclass
class Read(HTMLParser):
    """Title, visible text and links of a page."""

    title: str = ""
    pieces: list[str] = field(default_factory=list)
    places: list[str] = field(default_factory=list)  # where each piece stands: heading, body or navigation
    links: list[tuple[str, str]] = field(default_factory=list)  # href, rel
    labels: list[str] = field(default_factory=list)  # the text of each link
    metas: dict[str, str] = field(default_factory=dict)
    canonical: str = ""
    base: str = ""
    _silence: list[str] = field(default_factory=list)
    _open: list[str] = field(default_factory=list)
    _in_title: bool = False
    _after_link: bool = False

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._silence:
            if tag == self._silence[0]:
                self._silence.append(tag)
            return
        given = {name: value or "" for name, value in attrs}
        hidden = "hidden" in given or bool(_HIDDEN.search(given.get("style", "")))
        if (tag in _SILENT or hidden) and tag not in _VOID:
            self._silence.append(tag)
        self._note(tag, given)
        self._in_title = self._in_title or tag == "title"
        if tag in _FRAME or tag in _HEADINGS or tag in ("main", "a"):
            self._open.append(tag)
        if tag not in _INLINE or (tag == "a" and self._after_link):
            self._say(_EDGE)
        self._after_link = False

    def _note(self, tag: str, given: dict[str, str]) -> None:
        if tag in ("a", "area") and "href" in given:
            self.links.append((given["href"], given.get("rel", "")))
            self.labels.append("")
        elif tag == "meta":
            name = given.get("name") or given.get("http-equiv", "")
            self.metas[name.lower()] = given.get("content", "")
        elif tag == "link" and given.get("rel") == "canonical":
            self.canonical = given["href"]
        elif tag == "base":
            self.base = given["href"]

    def handle_endtag(self, tag: str) -> None:
        if self._silence:
            if tag == self._silence[0]:
                self._silence.pop()
            return
        if tag == "title":
            self._in_title = False
        if tag in self._open:
            self._open.remove(tag)
        if tag not in _INLINE:
            self._say(_EDGE)
        self._after_link = tag == "a"

    def handle_data(self, data: str) -> None:
        self._after_link = False
        if self._silence:
            return
        if self._in_title:
            self.title += data
        else:
            self._say(data)
            if "a" in self._open:
                self.labels[-1] += data

    def _say(self, text: str) -> None:
        self.pieces.append(text)
        self.places.append(self._place())

    def _place(self) -> str:
        """A header or footer inside the main part belongs to an article; around it, to the frame of the page."""
        framed = {"nav", *(() if "main" in self._open else ("header", "footer"))}
        if not framed.isdisjoint(self._open):
            return "navigation"
        return "body" if _HEADINGS.isdisjoint(self._open) else "heading"


def read(html: str) -> Read:
    reader = Read()
    reader.feed(html)
    reader.close()
    return reader


def decode(body: bytes, content_type: str) -> str:
    """By the header, else by a byte order mark, else by the meta."""
    declared = re.search(r"charset=([\w-]+)", content_type)
    if declared:
        return body.decode(declared[1], "replace").removeprefix("\ufeff")
    if body.startswith(b"\xef\xbb\xbf"):
        return body.decode("utf-8-sig", "replace")
    meta = _CHARSET.search(body[:1024])
    return body.decode(meta[1].decode() if meta else "utf-8", "replace")


def count(html: str, keywords: tuple[str, ...]) -> dict[str, int]:
    """How often a page mentions each keyword, zeros left out."""
    return mentions(read(html), keywords)


def mentions(page: Read, keywords: tuple[str, ...]) -> dict[str, int]:
    blocks = "".join((page.title, _EDGE, *page.pieces)).translate(_IGNORED).split(_EDGE)
    plain = [" ".join(block.split()).lower() for block in blocks if block]
    counts = {keyword: sum(_in(keyword.lower(), piece) for piece in plain) for keyword in keywords}
    return {keyword: number for keyword, number in counts.items() if number}


def positions(page: Read, keywords: tuple[str, ...]) -> dict[str, str]:
    """The best place of each keyword that the page mentions."""
    best: dict[str, str] = {}
    for place in ("navigation", "body", "heading"):
        said = [piece if at == place else _EDGE for piece, at in zip(page.pieces, page.places, strict=True)]
        best |= dict.fromkeys(mentions(Read(pieces=said), keywords), place)
    return best | dict.fromkeys(mentions(Read(title=page.title), keywords), "title")


def _in(keyword: str, text: str) -> int:
    found, at = 0, text.find(keyword)
    while at >= 0:
        found += _stands_alone(keyword, text, at)
        at = text.find(keyword, at + 1)
    return found


def _stands_alone(keyword: str, text: str, at: int) -> bool:
    if any("\u3040" <= letter <= "\u9fff" for letter in keyword):
        return True
    end = at + len(keyword)
    before = text[at - 1] if at else " "
    after = text[end] if end < len(text) else " "
    return not re.match(r"\w", before) and not re.match(r"\w", after)
