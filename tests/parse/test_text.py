"""Visible text is what a visitor reads: no more, no less, and no two words glued that stand apart."""

import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from turbohtml import Element, Text, parse

from gossamer.parse.text import INVISIBLE, tidy, visible_text
from tests.parse.answers import read, text_of


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("C<b>R</b>M", "CRM"),
        ("<i>C</i><span>R</span><a href=x>M</a> soft<em>ware</em>", "CRM software"),
        ("soft&shy;ware zero\u200bwidth a\u200c\u200d\u2060\ufeffb", "software zerowidth ab"),
        ("a&nbsp;&nbsp;b\u2003c\u3000d\n\t e", "a b c d e"),
        ("caf&eacute; &lt;b&gt; &amp;amp; &#x41;", "café <b> &amp; A"),
        ("<p>one</p><p>two</p><div>three</div>four", "one two three four"),
        ("one<br>two<hr>three", "one two three"),
        ("long<wbr>word", "longword"),
        ("<h1>Head</h1>text<blockquote>quote</blockquote><address>street</address>", "Head text quote street"),
        ("<dl><dt>term<dd>meaning</dl>", "term meaning"),
        ("<pre>  one\n\n   two</pre>", "one two"),
        ("H<sub>2</sub>O <del>old</del><ins>new</ins>", "H2O oldnew"),
        ("<a><h3>CRM</h3><span>software</span></a>", "CRM software"),
        ("<a><h3>CRM</h3></a><span>software</span>", "CRM software"),
        ("<span><span><div>one</div></span>two</span>three", "one twothree"),
        ("<x-card><h3>one</h3>two<p>three</p>four</x-card>five", "one two three fourfive"),
        ("<form>one<div>two</div>three</form>four<fieldset>five</fieldset>six", "one two three four five six"),
        ("<b><p>one</p></b>two <label>three<div>four</div></label>five", "one two three four five"),
        ("<hgroup><h1>one</h1><p>two</p></hgroup>three<search>four</search>five", "one two three four five"),
    ],
)
def test_blocks_part_and_inline_markup_joins(body: str, text: str) -> None:
    assert text_of(body) == text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<ul><li>one<li>two<ul><li>deep</ul></ul>", "one two deep"),
        ("<ol><li>one<li>two</ol>", "one two"),
        ("<ol start=7><li value=9>nine</ol>", "nine"),
        ("<ul><li>* starred</ul>", "* starred"),
        ("<ol><li>1. written</ol>", "1. written"),
    ],
)
def test_lists_have_only_the_numbers_and_bullets_the_page_wrote(body: str, text: str) -> None:
    assert text_of(body) == text


@pytest.mark.parametrize("tag", ["ul", "ol", "menu", "dir", "dl"])
@pytest.mark.parametrize(
    ("inside", "text"),
    [
        ("loose <b>text</b>", "loose text"),
        ("<a href=/x>link</a>", "link"),
        ("<div>one</div><section>two</section>three<h3>four</h3>", "one two three four"),
        ("<form><li>one</li><li>two</li></form>", "one two"),
        ("<my-item><li>one</li></my-item><my-item><p>two</p></my-item>three", "one two three"),
        ("<table><tr><td>one<td>two</table>", "one two"),
        ("<ul><li>one</ul><ol>two<li>three</ol>", "one two three"),
        ("<li>one<li>two<div>three<ul>four</ul></div><script>no</script><template>no</template>", "one two three four"),
        ("<dt>one<dd>two<p>three", "one two three"),
        ("<li hidden>no</li><span style='display:none'>no</span>one", "one"),
    ],
)
def test_all_that_stands_in_a_list_is_read(tag: str, inside: str, text: str) -> None:
    assert text_of(f"before<{tag}>{inside}</{tag}>after") == f"before {text} after"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<span>one<li>two</li>three</span>four", "one two threefour"),
        ("<table><tr><td>one<li>two</li>three<td><dd>four</dd>five</table>", "one two three four five"),
        ("<b><figcaption>one</figcaption>two</b> <i><summary>three</summary>four</i>", "one two three four"),
        ("<em><legend>one</legend>two<xmp>three</xmp>four</em>five", "one two three fourfive"),
    ],
)
def test_items_and_captions_part_wherever_they_stand(body: str, text: str) -> None:
    assert text_of(body) == text


_INLINE = ["span", "b", "i", "em", "strong", "code", "small", "label", "cite", "time", "ins", "my-x", "font", "u", "q"]
_BLOCKS = [
    "div", "p", "h1", "h3", "ul", "ol", "menu", "dir", "dl", "li", "dt", "dd", "table", "tr", "td", "th", "caption",
    "tbody", "section", "article", "header", "footer", "nav", "main", "aside", "figure", "figcaption", "details",
    "summary", "form", "fieldset", "legend", "blockquote", "address", "pre", "center", "button", "select", "option",
    "optgroup", "textarea", "hgroup", "search", "xmp",
]  # fmt: skip
_GAPS = ["hr", "br", "img", "input", "iframe", "video", "object"]
_UNREAD = ["script", "style", "template", "noscript", "noembed", "rt", "datalist"]
_WORDS = st.text(alphabet="abc", min_size=1, max_size=3)


def _around(inside: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    tag = st.sampled_from(_INLINE + _BLOCKS + _GAPS + _UNREAD)
    ending = st.sampled_from([True, True, True, False])
    return st.builds(
        lambda tag, parts, ends: f"<{tag}>{''.join(parts)}" + (f"</{tag}>" if ends else ""),
        tag,
        st.lists(inside, max_size=4),
        ending,
    )


def _walked(node: Any) -> str:
    """The words below a node, as a plain walk over the tree finds them."""
    said = ""
    for each in node.children:
        if isinstance(each, Text):
            said += each.data
        elif isinstance(each, Element) and each.tag in (*_UNREAD, *_GAPS):
            said += " " * (each.tag in _GAPS)
        elif isinstance(each, Element):
            gap = " " * (each.tag in (*_BLOCKS, "tfoot", "thead", "body", "html"))
            said += gap + _walked(each) + gap
    return said


def test_an_empty_quotation_glues_nothing() -> None:
    source = "<body><span><blockquote></blockquote>one</span><div>two</div>"
    assert visible_text(parse(source, positions=False, scripting=True), source) == "one two"


@settings(deadline=None, max_examples=400)
@given(st.lists(st.recursive(_WORDS | _WORDS.map("{} ".format), _around, max_leaves=20), max_size=5))
def test_no_word_is_lost_glued_or_torn_whatever_stands_in_what(parts: list[str]) -> None:
    source = f"<body>{''.join(parts)}"
    tree = parse(source, positions=False, scripting=True)
    words = " ".join(_walked(tree).split())
    assert visible_text(tree, source) == words


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<a>Kontakt</a><a>Impressum</a>", "Kontakt Impressum"),
        ("<a>Kontakt</a><a>Impressum</a><a>AGB</a>", "Kontakt Impressum AGB"),
        ("<a>kontakt</a><a>impressum</a>", "kontakt impressum"),
        ("<a><b>Kontakt</b></a><!-- x --><a><span>Impressum</span></a>", "Kontakt Impressum"),
        ("<b><a>Kontakt</a></b><b><a>Impressum</a></b>", "Kontakt Impressum"),
        ("<a>Kontakt</a><span><a>Impressum</a></span><a>AGB</a>", "Kontakt Impressum AGB"),
        ('<a>Kontakt</a><i class="dot"></i><a>Impressum</a><b></b><!-- x --><i></i>', "Kontakt Impressum"),
        ("<a>Seite</a><a>1</a><a>2</a>", "Seite 1 2"),
        ("<a>one</a><a hidden>no</a><a><i></i></a><a>two</a>", "one two"),
        ("<a>Ja</a><button>Nein</button><button>Oder</button>", "Ja Nein Oder"),
        ("<ul><a>Kontakt</a><a>Impressum</a></ul>", "Kontakt Impressum"),
        ("<table><tr><td><a>Kontakt</a><a>Impressum</a></table>", "Kontakt Impressum"),
    ],
)
def test_neighbouring_links_are_two(body: str, text: str) -> None:
    assert text_of(body) == text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<a>K</a><a>ontakt</a>", "Kontakt"),
        ("<a>Kontak</a><a><b> t </b></a>", "Kontak t"),
        ("<a>A</a><a>B</a><a>C</a>", "ABC"),
        ("<p>Keywords</p><a>key</a><a>words</a>", "Keywords keywords"),
        ("<a>Our key</a><a>words here</a> <p>keywords</p>", "Our keywords here keywords"),
        ("<p>keywords</p><a>key</a><a>Words</a>", "keywords key Words"),
        ("<p>the keywordsmith</p><a>key</a><a>words</a>", "the keywordsmith key words"),
        ("<span>C</span><span>RM</span> Kon<span>takt</span> C<b>R</b>M", "CRM Kontakt CRM"),
        ("<a>one</a>-<a>two</a><a>three</a> <a>four</a>", "one-two three four"),
        ("<p>x<b><a href=/k>Ken</b>Nedy</a>", "xKenNedy"),
    ],
)
def test_parts_of_one_word_stay_together_in_several_links(body: str, text: str) -> None:
    assert text_of(body) == text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<table><tr><td>a<td>b<tr><th>c<td>d</table>e", "a b c d e"),
        ("<table><caption>Prices <b>now</b></caption><tr><td>a</table>", "Prices now a"),
        ("<table><tr><td>a<table><caption>in</caption><tr><td>b</table><td>c</table>", "a in b c"),
        (
            "<table><tr><td>one<p>two</p>three<td>four<div>five</div>six</table>seven",
            "one two three four five six seven",
        ),
        ("<table><tr><td>one<button>two</button>three<td><hr>four</table>", "one two three four"),
        ("<span>one<button>two</button>three</span>", "one two three"),
        ("x<button>Buy</button><button>Sell</button>y", "x Buy Sell y"),
        ("<label>Name</label><input value=no placeholder=nor>next", "Name next"),
        ("<select><option>one<option>two</select>three", "one two three"),
        ("<select><optgroup label=no><option>one</optgroup></select>", "one"),
        ("a<textarea>b</textarea>c", "a b c"),
        ("<fieldset><legend>Who</legend>you</fieldset>", "Who you"),
        ("a<img src=x alt=no>b", "a b"),
        ("<center>a</center>b", "a b"),
        ("<svg><title>no</title><desc>no</desc><text>Q1</text><text>Q2</text></svg>after", "Q1 Q2 after"),
    ],
)
def test_cells_controls_and_pictures_do_not_glue_their_neighbours(body: str, text: str) -> None:
    assert text_of(body) == text


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>no</script>",
        "<script type=application/ld+json>{}</script>",
        "<style>no</style>",
        "<template><p>no</p></template>",
        "<noscript><p>no</p></noscript>",
        "<!-- no -->",
        "<div hidden>no<p>nor</p></div>",
        '<div hidden="until-found">no</div>',
        '<div style="display:none">no</div>',
        '<div style="color: red; DISPLAY : NONE !important">no</div>',
        '<p style="visibility: hidden">no</p>',
        '<p style="visibility:collapse">no</p>',
        "<div hidden><img src=x><button>no</button><ol><li>no</ol></div>",
        "<iframe>no</iframe>",
        "<math><annotation>no</annotation></math>",
        "<video>no</video><audio>no</audio><canvas>no</canvas><object>no</object>",
        "<datalist><option>no</datalist>",
        '<p title="no"></p><img alt="no"><meta name=description content=no>',
        "<svg><foreignObject hidden>no</foreignObject></svg>",
        "<table hidden><caption>no</caption><tr><td>no</table>",
        "<svg><metadata><rdf:RDF><dc:title>no</dc:title></rdf:RDF></metadata></svg>",
        "<svg><g><title>no</title><metadata>no</metadata><desc>no</desc></g></svg><svg><title>no</title></svg>",
        "<math><semantics><annotation-xml encoding=text/html><p>no</p></annotation-xml></semantics></math>",
        "<dialog>no<p>nor</p></dialog>",
        "<dialog><form><button>no</button></form></dialog>",
        "<div popover>no</div><span popover=manual>no</span><dialog popover>no</dialog>",
    ],
)
def test_what_is_not_shown_is_not_read(hidden: str) -> None:
    assert text_of(f"<p>before</p>{hidden}<p>after</p>") == "before after"


@pytest.mark.parametrize(
    "shown",
    [
        '<div style="overflow:hidden">yes</div>',
        '<div style="--display:none">yes</div>',
        '<div style="background: none">yes</div>',
        "<div aria-hidden=true>yes</div>",
        "<input type=hidden><span>yes</span>",
        "<details><summary>yes</summary></details>",
        "<dialog open>yes</dialog>",
        "<dialog open popover>yes</dialog>",
        "<button popovertarget=x>yes</button>",
        "<metadata>yes</metadata>",
    ],
)
def test_what_only_looks_hidden_is_read(shown: str) -> None:
    assert text_of(shown) == "yes"


def test_a_page_that_hides_itself_until_its_script_has_run_is_read() -> None:
    assert read('<html><body style="display:none"><p>Welcome</p></body></html>').text == "Welcome"
    assert read("<html hidden><body hidden><p>Welcome</p></body></html>").text == "Welcome"


def test_the_title_is_no_part_of_the_text() -> None:
    doc = read("<html><head><title>Only here</title></head><body><p>Body</p></body></html>")
    assert (doc.title, doc.text) == ("Only here", "Body")


def test_ruby_readings_do_not_tear_a_word_apart() -> None:
    assert text_of("<ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp></ruby><ruby>字<rt>じ</rt></ruby>") == "漢字"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("CRM<sup>1</sup> x", "CRM¹ x"),
        ("CRM<sup><a href=#n>12</a></sup>, x", "CRM¹², x"),
        ("CRM<sup>1</sup><sup>,2</sup>", "CRM¹,2"),
        ("CRM<sup> 1, 2</sup><b>x</b>", "CRM 1, 2x"),
        ("CRM<sup>1</sup><b>.</b> 5 m<sup>2</sup>", "CRM¹. 5 m²"),
        ("CRM<sup>[1]</sup> x<sup>*</sup> CRM<sup>(2)</sup>", "CRM[1] x* CRM(2)"),
        ("H<sub>2</sub>O CO<sub>2</sub> x<sup>2</sup>y 1<sup>st</sup> 2<sup>2nd</sup>", "H2O CO2 x2y 1st 22nd"),
        ("CRM<sup hidden>1</sup> a<sup></sup>b<sup>c</sup>", "CRM abc"),
        ("<b>CRM<sup>1</sup></b> CRM<sup>2</sup><br>x", "CRM¹ CRM² x"),
    ],
)
def test_the_mark_of_a_footnote_is_no_part_of_the_word(body: str, text: str) -> None:
    assert text_of(body) == text


def test_marks_of_direction_and_invisible_signs_of_formulas_are_not_there() -> None:
    assert text_of("C\u200eR\u200fM \u061cx") == "CRM x"
    assert text_of("<math>f\u2061x\u2062y\u2063z\u2064w</math>") == "fxyzw"


def test_characters_are_composed() -> None:
    assert text_of("<p>Cafe\u0301 e\u00ad\u0301</p>") == "Café é"


def test_reading_leaves_the_tree_as_it_was() -> None:
    source = (
        "<body><ol><li>a</ol><table>\n<caption>b</caption>\n<tr><td hidden>c</table><button hidden>d</button>"
        "<table><caption>e</caption></table><svg><title>f</title><text>g</text><text>h</text></svg><img><noscript>i</noscript>"
        "<svg viewBox='0 0 1 1'><linearGradient hidden>j</linearGradient></svg><td<p hidden>k</td<p>"
        "<svg><metadata>l</metadata></svg><dialog>m</dialog><p popover>n</p>"
        "<math><annotation-xml>o</annotation-xml></math><p>p<sup><i>1</i> 2<sup>3</sup></sup>"
        "<menu>q <a>r1</a><a>s1</a><b><a>t1</a></b></menu>"
    )
    tree = parse(source, positions=False, scripting=True)
    before = tree.html
    first = visible_text(tree, source)
    assert tree.html == before
    assert visible_text(tree, source) == first == "a b e g h k p1 2³ q r1 s1 t1"


def test_scripts_below_the_depth_the_parser_reaches_stay_unread() -> None:
    body = "<div>" * 700 + "<p>seen<script>unseen()</script><style>.unseen{}</style> also</p><SCRIPT>unseen("
    doc = read(body)
    assert doc.text.split() == ["seen", "also"]
    assert len(doc.tree.find_all("script")) == 2


@settings(deadline=None)
@given(st.text())
def test_tidy_text_has_single_spaces_and_nothing_invisible(text: str) -> None:
    tidied = tidy(text)
    assert tidied == " ".join(tidied.split())
    assert not set(tidied) & set(INVISIBLE)
    assert unicodedata.is_normalized("NFC", tidied)
    assert tidy(tidied) == tidied


@settings(deadline=None)
@given(
    st.text(alphabet=st.sampled_from("ab \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2003\u2028\u202f\u3000\u200b"))
)
def test_white_space_is_what_python_says_it_is(text: str) -> None:
    assert tidy(text) == " ".join(text.replace("\u200b", "").split())
