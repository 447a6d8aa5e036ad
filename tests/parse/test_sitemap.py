"""Sitemaps, indexes, lists and feeds, in all the shapes they are found in."""

import gzip
import random
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gossamer.parse.sitemap import MOST_BYTES, MOST_ENTRIES, Entry, Kind, SitemapReader

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
LAUGHS = "".join(f'<!ENTITY lol{n + 1} "{f"&lol{n};" * 10}">' for n in range(9))


@dataclass
class Outcome:
    kind: Kind
    entries: list[Entry]
    cut: bool

    @property
    def urls(self) -> list[str]:
        return [entry.url for entry in self.entries]


def read(body: str | bytes, *cuts: int) -> Outcome:
    """What is found in a file that arrives cut at these places."""
    data = body.encode() if isinstance(body, str) else body
    reader = SitemapReader()
    entries: list[Entry] = []
    start = 0
    for end in (*sorted(cuts), len(data)):
        entries += reader.feed(data[start:end])
        start = max(start, end)
    entries += reader.finish()
    return Outcome(reader.kind, entries, reader.cut)


def pack(data: bytes, level: int = 6) -> bytes:
    return gzip.compress(data, level, mtime=0)


def urlset(*addresses: str) -> str:
    listed = "".join(f"<url><loc>{address}</loc></url>" for address in addresses)
    return f"{HEAD}<urlset {NAMESPACE}>{listed}</urlset>"


A, B, C = "http://a.test/1", "http://a.test/2", "http://a.test/3"
ONE = urlset(A)
TWO = urlset(A, B)

FOUND: dict[str, tuple[str | bytes, Kind, list[str]]] = {
    "plain": (TWO, Kind.URLSET, [A, B]),
    "white space": (
        f"\n\n {HEAD}<urlset>\n <url >\n\t<loc>\n {A} </loc\n>\n</url>\n</urlset>\n",
        Kind.URLSET,
        [A],
    ),
    "no namespace, no declaration": (f"<urlset><url><loc>{A}</loc></url></urlset>", Kind.URLSET, [A]),
    "old namespace": (ONE.replace("www.sitemaps.org", "www.google.com").replace("0.9", "0.84"), Kind.URLSET, [A]),
    "prefixed": (f"<s:urlset><s:url><s:loc>{A}</s:loc></s:url></s:urlset>", Kind.URLSET, [A]),
    "capitals": (f"<URLSET><Url><LOC>{A}</LOC></Url></URLSET>", Kind.URLSET, [A]),
    "byte-order mark": (b"\xef\xbb\xbf" + ONE.encode(), Kind.URLSET, [A]),
    "references": (
        urlset("http://a.test/?a=1&amp;b=2&#38;c=3&#x26;d=&quot;&eacute;"),
        Kind.URLSET,
        ['http://a.test/?a=1&b=2&c=3&d="é'],
    ),
    "bare ampersands": (
        urlset("http://a.test/?a=1&copy=2&b&amp;c&bogus;"),
        Kind.URLSET,
        ["http://a.test/?a=1&copy=2&b&c&bogus;"],
    ),
    "a bare angle": (urlset("http://a.test/?a<5&b"), Kind.URLSET, ["http://a.test/?a<5&b"]),
    "CDATA": (urlset(f"<![CDATA[{A}]]>", f" <![CDATA[ {B}?x<y ]]> "), Kind.URLSET, [A, f"{B}?x<y"]),
    "comments": (
        f"<urlset><!-- <url><loc>{C}</loc></url> --><url><!--x--><loc>{A}</loc></url><!-- -- > -></urlset>",
        Kind.URLSET,
        [A],
    ),
    "pictures": (
        f"<urlset><url><image:image><image:loc>{C}</image:loc></image:image><loc>{A}</loc>"
        f"<image:image><image:loc>{C}</image:loc><image:title>t</image:title></image:image></url></urlset>",
        Kind.URLSET,
        [A],
    ),
    "a picture only": (f"<urlset><url><image:loc>{C}</image:loc></url></urlset>", Kind.URLSET, []),
    "a picture with a namespace of its own": (
        f'<urlset><url><image xmlns="i"><loc>{C}</loc></image><loc>{A}</loc></url></urlset>',
        Kind.URLSET,
        [A],
    ),
    "plain tags in a prefixed block": (
        f"<urlset><url><image:image><loc>{C}</loc></image:image><loc>{A}</loc></url></urlset>",
        Kind.URLSET,
        [A],
    ),
    "films": (
        f"<urlset><url><loc>{A}</loc><video:video><video:content_loc>{C}</video:content_loc>"
        f"<video:url>{C}</video:url><video:player_loc>{C}</video:player_loc></video:video></url></urlset>",
        Kind.URLSET,
        [A],
    ),
    "translations": (
        f'<urlset><url><xhtml:link rel="alternate" href="{C}"/><loc>{A}</loc></url>'
        f'<url><xhtml:link rel="alternate" href="{C}"><loc>{B}</loc></url></urlset>',
        Kind.URLSET,
        [A, B],
    ),
    "a loc outside": (f"<urlset><loc>{C}</loc><url><loc>{A}</loc></url></urlset>", Kind.URLSET, [A]),
    "the first of two": (f"<urlset><url><loc> </loc><loc>{A}</loc><loc>{B}</loc></url></urlset>", Kind.URLSET, [A]),
    "empty": (f"{HEAD}<urlset/>", Kind.URLSET, []),
    "blank loc": ("<urlset><url><loc></loc></url><url><loc/></url><url/></urlset>", Kind.URLSET, []),
    "relative": ("<urlset><url><loc>/x?y</loc></url></urlset>", Kind.URLSET, ["/x?y"]),
    "no root": (f"<url><loc>{A}</loc></url><url><loc>{B}</loc></url>", Kind.URLSET, [A, B]),
    "wrong end tag": (
        f"<urlset><url><loc>{A}</loc></uri> & more<url><loc>{B}</loc></url></urlset>",
        Kind.URLSET,
        [A, B],
    ),
    "missing end tags": (
        f"<urlset><url><loc>{A}<priority>0.5</priority><url><loc>{B}</url></urlset>",
        Kind.URLSET,
        [A, B],
    ),
    "crossed end tags": (f"<urlset><url><loc>{A}</url></loc><url><loc>{B}</loc></url>", Kind.URLSET, [A, B]),
    "cut in a tag": (f"<urlset><url><loc>{A}</loc></url><url><loc>{B}</lo", Kind.URLSET, [A, B]),
    "cut in an address": (f"<urlset><url><loc>{A}</loc></url><url><loc>{B}", Kind.URLSET, [A]),
    "cut after an address": (f"<urlset><url><loc>{A}</loc><lastmod>20", Kind.URLSET, [A]),
    "junk before": (f"Notice: undefined index in /var/www\n{ONE}", Kind.URLSET, [A]),
    "a warning before": (f"<br />\n<b>Warning</b>: x on line <b>3</b><br />\n{ONE}", Kind.URLSET, [A]),
    "junk behind": (f"{ONE}<script>x()</script><!-- cached -->", Kind.URLSET, [A]),
    "a style sheet": (ONE.replace("<urlset", '<?xml-stylesheet href="x.xsl"?><urlset'), Kind.URLSET, [A]),
    "western, called UTF-8": (urlset("http://a.test/é–x").encode("cp1252"), Kind.URLSET, ["http://a.test/é–x"]),
    "UTF-8, called western": (
        urlset("http://a.test/é").replace("UTF-8", "ISO-8859-1"),
        Kind.URLSET,
        ["http://a.test/é"],
    ),
    "UTF-8, called UTF-16": (urlset("http://a.test/é").replace("UTF-8", "UTF-16"), Kind.URLSET, ["http://a.test/é"]),
    "UTF-8, called Cyrillic": (
        urlset("http://a.test/дом").replace("UTF-8", "windows-1251"),
        Kind.URLSET,
        ["http://a.test/дом"],
    ),
    "Cyrillic": (
        urlset("http://a.test/дом").replace("UTF-8", "windows-1251").encode("cp1251"),
        Kind.URLSET,
        ["http://a.test/дом"],
    ),
    "an encoding that is none": (ONE.replace("UTF-8", "zlib_codec"), Kind.URLSET, [A]),
    "UTF-16": (urlset("http://a.test/日本").encode("utf-16"), Kind.URLSET, ["http://a.test/日本"]),
    "UTF-16 without mark": (ONE.encode("utf-16-le"), Kind.URLSET, [A]),
    "UTF-16 the other way round": (ONE.encode("utf-16-be"), Kind.URLSET, [A]),
    "NUL and lone surrogates": (
        urlset("http://a.test/\0x&#0;&#xD800;&#x110000;").encode() + b"\xed\xa0\x80",
        Kind.URLSET,
        ["http://a.test/x\ufffd\ufffd\ufffd"],
    ),
    "gzip": (pack(TWO.encode()), Kind.URLSET, [A, B]),
    "gzip twice": (pack(pack(TWO.encode())), Kind.URLSET, [A, B]),
    "gzip in parts": (pack(TWO[:80].encode()) + pack(TWO[80:].encode()), Kind.URLSET, [A, B]),
    "gzip with padding": (pack(TWO.encode()) + b"\0" * 100, Kind.URLSET, [A, B]),
    "gzip cut off": (pack(TWO.encode() + random.Random(1).randbytes(500))[:-200], Kind.URLSET, [A, B]),
    "gzip with a wrong checksum": (pack(TWO.encode())[:-8] + b"12345678", Kind.URLSET, [A, B]),
    "index": (
        f"{HEAD}<sitemapindex {NAMESPACE}><sitemap><loc>{A}</loc><lastmod>2026</lastmod></sitemap></sitemapindex>",
        Kind.INDEX,
        [A],
    ),
    "RSS 2.0": (
        f'<rss version="2.0"><channel><title>t</title><link>{C}</link><image><url>{C}</url><link>{C}</link></image>'
        f"<item><title>t</title><link>{A}</link><guid>{C}</guid><description>&lt;a href='{C}'&gt;</description></item>"
        f"<item><atom:link href='{C}' rel='self'/><link><![CDATA[{B}]]></link></item></channel></rss>",
        Kind.FEED,
        [A, B],
    ),
    "RSS with markup in it": (
        f"<rss><item><content:encoded><![CDATA[<p>x<br><link>{C}</link></p>]]></content:encoded>"
        f"<description><p>a<br/>b<body></body></p></description><link>{A}</link></item></rss>",
        Kind.FEED,
        [A],
    ),
    "RSS by guid": (
        f"<rss><item><guid>{A}</guid></item><item><guid isPermaLink='false'>{C}</guid></item>"
        f'<item><guid isPermaLink="true">{B}</guid><link></link></item></rss>',
        Kind.FEED,
        [A, B],
    ),
    "RSS 1.0": (
        f'{HEAD}<rdf:RDF xmlns="http://purl.org/rss/1.0/"><channel rdf:about="{C}"><link>{C}</link></channel>'
        f'<item rdf:about="{A}"><title>t</title><link>{A}</link></item></rdf:RDF>',
        Kind.FEED,
        [A],
    ),
    "Atom": (
        f'<feed xmlns="http://www.w3.org/2005/Atom"><link href="{C}"/><link rel="self" href="{C}"/>'
        f"<entry><link rel='edit' href='{C}'/><link rel='alternate' type='text/html'\n href='{A}?x&amp;y'/></entry>"
        f'<entry><source><link href="{C}"/></source><link href="{B}"></link>'
        f'<content type="xhtml"><div><a href="{C}">x</a></div></content></entry></feed>',
        Kind.FEED,
        [f"{A}?x&y", B],
    ),
    "text": (f"{A}\n{B}\n", Kind.TEXT, [A, B]),
    "text with everything": (
        f"\ufeff# our pages\r\n\r\n  {A}  \r\nnothing\r{B}?a=1&amp;b\nHTTPS://A.TEST/<3>\n/relative\n{C}",
        Kind.TEXT,
        [A, f"{B}?a=1&amp;b", "HTTPS://A.TEST/<3>", C],
    ),
    "text in UTF-16": (f"{A}\r\n{B}".encode("utf-16"), Kind.TEXT, [A, B]),
    "text in gzip": (pack(f"{A}\n{B}".encode()), Kind.TEXT, [A, B]),
    "half a text": (pack(f"{A}\n{B}".encode())[:-9], Kind.TEXT, [A]),
    "a laugh": (
        f'{HEAD}<!DOCTYPE x [<!ENTITY lol0 "lol">{LAUGHS}]>{urlset("http://a.test/&lol9;")}',
        Kind.URLSET,
        ["http://a.test/&lol9;"],
    ),
    "a file of ours": (
        f'<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><urlset><url><loc>&f;</loc></url>{ONE}',
        Kind.URLSET,
        ["&f;", A],
    ),
    "a page": (f"<!doctype html><title>Not found</title>{ONE}", Kind.NOT_A_SITEMAP, []),
    "a page that is XML": (f"{HEAD}<!-- x --><html><body>{TWO}</body></html>", Kind.NOT_A_SITEMAP, []),
    "a piece of a page": (f'<h1>Not found</h1><p><a href="{A}">x</a>', Kind.NOT_A_SITEMAP, []),
    "other XML": (f"{HEAD}<opml><outline xmlUrl='{A}'/></opml>", Kind.NOT_A_SITEMAP, []),
    "JSON": (f'{{"error": "{A}"}}', Kind.NOT_A_SITEMAP, []),
    "other text": (f"See {A}\n", Kind.NOT_A_SITEMAP, []),
    "nothing": (b"", Kind.NOT_A_SITEMAP, []),
    "white space only": (b" \n", Kind.NOT_A_SITEMAP, []),
    "one byte of gzip": (b"\x1f", Kind.NOT_A_SITEMAP, []),
    "gzip of nothing": (pack(b""), Kind.NOT_A_SITEMAP, []),
    "binary": (random.Random(2).randbytes(9_000), Kind.NOT_A_SITEMAP, []),
    "a root too far": (("<x>" + " " * 99) * 700 + ONE, Kind.NOT_A_SITEMAP, []),
    "an endless address": (urlset("http://a.test/" + "x" * 70_000, A), Kind.URLSET, [A]),
    "a long address": (urlset("http://a.test/" + "x" * 5_000, A), Kind.URLSET, [A]),
    "an endless line": (f"{A}\n{B}{'x' * 9_000}\n{C}", Kind.TEXT, [A, C]),
    "an endless remark": (f"<urlset><!--{'x' * 200_000}--><url><loc>{A}</loc></url>", Kind.URLSET, [A]),
}  # fmt: skip


@pytest.mark.parametrize("case", FOUND)
def test_what_is_listed_is_found(case: str) -> None:
    body, kind, urls = FOUND[case]
    outcome = read(body)
    assert (outcome.kind, outcome.urls, outcome.cut) == (kind, urls, False)


@pytest.mark.parametrize("case", FOUND)
def test_it_makes_no_difference_where_a_file_is_cut_into_chunks(case: str) -> None:
    body = FOUND[case][0]
    data = body.encode() if isinstance(body, str) else body
    whole = read(data)
    assert read(data, *range(0, len(data), 1 if len(data) < 3_000 else 97)) == whole
    for at in range(1, len(data), max(1, len(data) // 50)):
        assert read(data, at) == whole


PIECES = st.sampled_from(
    ["<urlset>", "<url>", "</url>", "<loc>", "</loc>", "<sitemap>", "</sitemap>", "http://a.test/", "/x", "<priority>",
     "0.7", "</priority>", "<image:image>", "<image:loc>", "</image:loc>", "</image:image>", "<![CDATA[", "]]>", "]",
     "<!--", "-->", "-", "<", ">", "&amp;", "&", "&#65;", "\n", " ", "<rss>", "<item>", "</item>", "<link>", "</link>",
     "<link href='/y'/>", "<guid>", "<feed>", "<entry>", "</entry>", "<html>", "<?xml encoding='gbk'?>", "é", "日", "#",
     "</urlset>", "<url><loc>/p</loc></url>", "<url><loc>/q</loc><lastmod>1</lastmod><priority>1</priority></url>",
     "<lastmod>", "</lastmod>", "<xhtml:link href='z'/>", "<br>", "</br>", "/>", "\r\n", "\0"]
)  # fmt: skip
ENCODINGS = st.sampled_from(["utf-8", "utf-16", "utf-16-le", "cp1252", "gb18030"])


def packed(data: bytes, layers: int, damage: int) -> bytes:
    for _ in range(layers):
        data = pack(data, 1)
    if damage and layers:
        at = damage % len(data)
        data = data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]
    return data


@settings(max_examples=1_000, deadline=None)
@given(
    st.lists(PIECES, max_size=40).map("".join),
    ENCODINGS,
    st.integers(0, 2),
    st.integers(0, 5_000),
    st.lists(st.integers(0, 700), max_size=8),
)
@example("<urlset><url><loc>/1</loc></url>", "utf-8", 0, 0, list(range(40)))
@example("<urlset><![CDATA[<url>]]<url>", "utf-8", 0, 0, list(range(40)))
def test_any_split_of_any_bytes_gives_the_same(
    text: str, encoding: str, layers: int, damage: int, cuts: list[int]
) -> None:
    data = packed(text.encode(encoding, "replace"), layers, damage)
    assert read(data, *cuts) == read(data)


def test_entries_come_as_soon_as_they_are_complete() -> None:
    reader = SitemapReader()
    kinds = [reader.kind]
    begun = f"<urlset>{'<!-- x -->' * 500}<url><loc>{A}</loc></url><url><loc>{B}".encode()
    assert [entry.url for entry in reader.feed(begun)] == [A]
    kinds.append(reader.kind)
    assert kinds == [Kind.UNKNOWN, Kind.URLSET]
    assert [entry.url for entry in reader.feed(b"</loc></url><")] == [B]
    assert list(reader.finish()) == []


@pytest.mark.parametrize(
    ("written", "priority"),
    [("0.8", 0.8), (" 1 ", 1.0), ("0,3", 0.3), ("0", 0.0), ("7", None), ("-1", None), ("high", None), ("nan", None),
     ("", None), ("1e999", None)],
)  # fmt: skip
def test_a_priority_is_kept_if_it_is_one(written: str, priority: float | None) -> None:
    for before, after in ((f"<priority>{written}</priority>", ""), ("", f"<priority>{written}</priority>")):
        body = f"<urlset><url>{before}<loc>{A}</loc>{after}</url><url><loc>{B}</loc></url></urlset>"
        assert read(body).entries == [Entry(A, priority), Entry(B, None)]


def test_an_index_may_list_pages_too() -> None:
    body = f"<sitemapindex><sitemap><loc>{A}</loc></sitemap><url><loc>{B}</loc></url></sitemapindex>"
    assert read(body).entries == [Entry(A, is_index=True), Entry(B)]
    assert read(body.replace("sitemapindex", "urlset")).entries == [Entry(A, is_index=True), Entry(B)]


@pytest.mark.parametrize("listed", [MOST_ENTRIES, MOST_ENTRIES + 1])
@pytest.mark.parametrize("form", ["<url><loc>/{}</loc></url>", "<url><loc>/{}</loc><x></x></url>"])
def test_no_more_entries_are_read_than_the_protocol_allows(listed: int, form: str) -> None:
    body = "<urlset>" + "".join(form.format(n) for n in range(listed)) + "</urlset>"
    outcome = read(pack(body.encode(), 1))
    assert outcome.urls == [f"/{n}" for n in range(MOST_ENTRIES)]
    assert outcome.cut is (listed > MOST_ENTRIES)


@pytest.mark.parametrize("layers", [0, 1, 2])
def test_no_more_bytes_are_read_than_the_protocol_allows(layers: int) -> None:
    last = f"<url><loc>{B}</loc></url>"
    padding = "<!--" + " " * (MOST_BYTES - len(ONE) - len(last) - 7) + "-->"
    for text, urls, cut in ((ONE + padding + last, [A, B], False), (ONE + padding + " " * 20 + last, [A], True)):
        outcome = read(packed(text.encode(), layers, 0))
        assert (outcome.urls, outcome.cut) == (urls, cut)


BOMBS: dict[str, Callable[[], bytes]] = {
    "deep": lambda: b"<urlset><url>" + b"<a>" * 8_000_000,
    "angles": lambda: b"<urlset>" + b"<" * 20_000_000,
    "remarks": lambda: b"<urlset>" + b"<!---->" * 3_000_000,
    "wrong ends": lambda: b"<urlset><url>" + b"<a>" * 100_000 + b"</b>" * 1_000_000,
    "attributes": lambda: b"<rss><item>" + b'<link rel="' * 2_000_000,
    "pictures": lambda: b"<urlset><url><loc>/x</loc>" + b"<image:a>" * 2_000_000,
    "entries that do not end": lambda: b"<urlset>" + b"<url><loc>/x</loc><image:a>" * 200_000,
    "packed nothing": lambda: pack(pack(b"") * 1_000_000, 1),
    "packed zeros": lambda: pack(zlib.compress(b"\0" * 100_000_000), 1),
    "packed entries": lambda: pack(b"<urlset>" + b"<url><loc>/x</loc></url>" * 4_000_000, 1),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_end_in_bounded_time(bomb: str) -> None:
    body = BOMBS[bomb]()
    began = time.process_time()
    outcome = read(body, *range(0, len(body), 65_536))
    # Far above what any of them takes.
    assert time.process_time() - began < 20
    assert set(outcome.urls) <= {"/x"}


def test_a_reader_says_when_there_is_no_use_in_going_on() -> None:
    reader = SitemapReader()
    reader.feed(b"<!doctype html>" + b" " * 5_000)
    over = [reader.over]
    reader.feed(b"<p>")
    over.append(reader.over)
    assert over == [False, True]
    assert list(reader.feed(ONE.encode())) == []


def mutated(data: bytes, dice: random.Random) -> bytes:
    body = bytearray(data)
    for _ in range(dice.randint(1, 10)):
        at = dice.randrange(len(body) + 1)
        match dice.randrange(4):
            case 0:
                del body[at : at + dice.randrange(60)]
            case 1:
                body[at:at] = dice.choice(
                    (b"<", b">", b"<![CDATA[", b"<!--", b"\0", b"\xff", b"&", b"</url>", b"\x1f\x8b")
                )
            case 2:
                body[at : at + 1] = bytes([dice.randrange(256)])
            case 3:
                start = dice.randrange(len(body) + 1)
                body[at:at] = body[start : start + dice.randrange(100)]
    return bytes(body)


def test_nothing_raises_on_two_thousand_broken_files() -> None:
    dice = random.Random(3)
    files = [body.encode() if isinstance(body, str) else body for body, _, _ in FOUND.values()]
    files = [file for file in files if len(file) < 3_000]
    for _ in range(2_000):
        body = mutated(dice.choice(files), dice)
        outcome = read(body, *(dice.randrange(len(body) + 1) for _ in range(3)))
        assert outcome.kind is not Kind.UNKNOWN
        assert outcome == read(body)
        for entry in outcome.entries:
            assert entry.url.strip() == entry.url != ""
            assert "\0" not in entry.url.encode().decode()
