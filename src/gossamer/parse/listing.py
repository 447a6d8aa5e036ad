"""The entries of a sitemap or feed, out of markup that may be broken anywhere.

This reads tags, not XML: nothing is declared, expanded or loaded, so there is no entity to explode and no file to be
tricked into, and one wrong tag costs one entry instead of all that follow. What counts is an entry (`url`, `sitemap`,
`item`, `entry`) and the fields that stand directly in it; a field ends at the next tag, whatever tag that is.
"""

import re
from collections.abc import Sequence
from enum import Enum

from gossamer.parse.entry import Draft, Entry, decoded, name_of, number_of


class Kind(Enum):
    UNKNOWN = "unknown"
    URLSET = "urlset"
    INDEX = "index"
    TEXT = "text"
    FEED = "feed"
    NOT_A_SITEMAP = "not a sitemap"


# The first of these says what the file is. Pages have other things before it, and so do sitemaps behind a warning.
_ROOTS = {
    **dict.fromkeys(("urlset", "url"), Kind.URLSET),
    **dict.fromkeys(("sitemapindex", "sitemap"), Kind.INDEX),
    **dict.fromkeys(("rss", "rdf", "feed"), Kind.FEED),
    **dict.fromkeys(("html", "head", "body"), Kind.NOT_A_SITEMAP),
}
_SITEMAP_FIELDS = {"url": frozenset({"loc", "priority"}), "sitemap": frozenset({"loc"})}
_FEED_FIELDS = {"item": frozenset({"link", "guid"}), "entry": frozenset({"link"})}
_FIELDS = {Kind.URLSET: _SITEMAP_FIELDS, Kind.INDEX: _SITEMAP_FIELDS, Kind.FEED: _FEED_FIELDS}
# Whose end is also the end of an entry that was not closed.
_AROUND = frozenset({"urlset", "sitemapindex", "rss", "rdf", "channel", "feed"})
_FARTHEST_ROOT = 65_536

# From one `<` to the next; what is longer holds no address.
_LONGEST_TOKEN = 65_536
_LONGEST_NAME = 80
# Tags cost time, also those that say nothing: so many are read in any case, and so many more for each entry found.
_FREE_TAGS = 500_000
_TAGS_PER_ENTRY = 50
_TAG_START = re.compile(r"<[/!?A-Za-z_]")
_HTML_DOCTYPE = re.compile(r"!doctype\s+html\b", re.IGNORECASE)
# An entry as most are written, whole and without surprises: read at one go, and ten times as fast. It says exactly what
# the tags say one by one. The elements with a prefix are pictures, films and translations, in and out of their blocks.
_BESIDE = (
    r"(?:<lastmod>[^<]*+</lastmod>|<changefreq>[^<]*+</changefreq>|<(?:xhtml|image|video|mobile|news):\w+(?:\s[^<>]*)?/>"
    r"|<(?P<block{0}>(?:image|video|news):\w+)>\s*+(?:<(?P<leaf{0}>(?:image|video|news):\w+)>[^<]*+</(?P=leaf{0})>\s*+)*+"
    r"</(?P=block{0})>)\s*+"
)
_PLAIN_ENTRY = re.compile(
    r"<(?P<name>url|sitemap)>\s*+<loc>(?P<loc>[^<]{1,4096}+)</loc>\s*+"
    rf"(?:{_BESIDE.format(1)})*+(?:<priority>(?P<priority>[^<]{{0,99}}+)</priority>\s*+(?:{_BESIDE.format(2)})*+)?+"
    r"</(?P=name)>[^<]*+"
)


class Listing:
    """Markup in, entries out. `kind` is known once a root was met."""

    def __init__(self) -> None:
        self.kind = Kind.UNKNOWN
        self._rest = ""
        self._until = ""  # how the comment or CDATA section ends that we are in
        self._passed = 0  # characters before the root
        self._tags_left = _FREE_TAGS
        self._fields: dict[str, frozenset[str]] = {}
        self._entry: Draft | None = None
        self._found: list[Entry] = []

    @property
    def cut(self) -> bool:
        """Whether there was so much markup round so few entries that reading was given up."""
        return self._tags_left < 0

    def feed(self, text: str) -> Sequence[Entry]:
        """The entries that `text` completed."""
        text, at = self._rest + text, 0
        while at < len(text) and self.kind is not Kind.NOT_A_SITEMAP and not self.cut:
            end = self._pass_over(text, at) if self._until else self._step(text, at)
            if end == at:
                break  # what this is, the next piece will tell
            at = end
        self._rest = text[at : at + _LONGEST_TOKEN + 1]
        return self._taken()

    def _pass_over(self, text: str, at: int) -> int:
        """On to the end of a comment or CDATA section. The text of the latter is text like any other."""
        end = text.find(self._until, at)
        inside = max(at, len(text) - 2) if end < 0 else end
        if self._until == "]]>" and self._entry is not None:
            self._entry.say(text[at:inside])
        if end < 0:
            return inside
        self._until = ""
        return end + 3

    def _step(self, text: str, at: int) -> int:
        """Read what begins at `at`, and say where the next begins: the same place, if its end is not to be seen."""
        self._tags_left -= 1
        if text.startswith("<!--", at):
            self._until = "-->"
            return at + 4
        if text.startswith("<![CDATA[", at):
            self._until = "]]>"
            return at + 9
        plain = _PLAIN_ENTRY.match(text, at) if self._entry is None and self._fields is _SITEMAP_FIELDS else None
        if plain is not None:
            name, address, priority = plain.group("name", "loc", "priority")
            self._tags_left -= plain[0].count("<") - 1
            if address := decoded(address).strip():
                self._add(Entry(address, number_of(priority), name == "sitemap"))
            return plain.end()
        end = text.find("<", at + 1)
        if end < 0:
            self._tags_left += 1
            return at
        self._take(text[at:end])
        return end

    def finish(self) -> Sequence[Entry]:
        """The entry that was begun, if its address was not cut off."""
        if not self._until and not self.cut and self.kind is not Kind.NOT_A_SITEMAP:
            closing = self._rest.startswith("</") and ">" not in self._rest
            self._take(self._rest + ">" if closing else self._rest)
        self._rest = ""
        if self.kind is Kind.UNKNOWN:
            self.kind = Kind.NOT_A_SITEMAP
        self._end_entry()
        return self._taken()

    def _taken(self) -> Sequence[Entry]:
        found, self._found = self._found, []
        return found

    def _take(self, token: str) -> None:
        """A tag with the text behind it, or text alone."""
        too_long = len(token) > _LONGEST_TOKEN
        token = token[:_LONGEST_TOKEN]
        close = token.find(">")
        if close > 0 and _TAG_START.match(token):
            self._meet(token[1:close])
            text = token[close + 1 :]
        else:
            text = token  # an unescaped `<` in a text, or what stands between a CDATA section and the next tag
        if self._entry is not None and self._entry.field:
            self._entry.say(text)
            if too_long:
                self._entry.forget_field()
        self._passed += len(token)
        if self.kind is Kind.UNKNOWN and self._passed > _FARTHEST_ROOT:
            self.kind = Kind.NOT_A_SITEMAP

    def _meet(self, tag: str) -> None:
        if self._entry is not None:
            self._entry.end_field()
        if tag[0] in "!?":
            if self.kind is Kind.UNKNOWN and _HTML_DOCTYPE.match(tag):
                self.kind = Kind.NOT_A_SITEMAP
        elif tag[0] == "/":
            self._end(*name_of(tag[1:_LONGEST_NAME]))
        else:
            self._start(*name_of(tag[:_LONGEST_NAME]), tag)

    def _start(self, prefix: str, name: str, tag: str) -> None:
        if self.kind is Kind.UNKNOWN and name in _ROOTS:
            self.kind = _ROOTS[name]
            self._fields = _FIELDS.get(self.kind, {})
        entry = self._entry
        if name in self._fields and (entry is None or entry.prefix == prefix):
            self._end_entry()
            self._entry = Draft(prefix, name, self._fields[name])
        elif entry is not None:
            entry.start(prefix, name, tag)

    def _end(self, prefix: str, name: str) -> None:
        entry = self._entry
        if entry is None:
            return
        if (prefix, name) == (entry.prefix, entry.name) or name in _AROUND:
            self._end_entry()
        else:
            entry.end(prefix, name)

    def _end_entry(self) -> None:
        if self._entry is not None and (done := self._entry.done()):
            self._add(done)
        self._entry = None

    def _add(self, entry: Entry) -> None:
        self._found.append(entry)
        self._tags_left += _TAGS_PER_ENTRY
