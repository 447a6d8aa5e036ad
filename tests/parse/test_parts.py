"""Parts of a page read by themselves say what they say on the page, and nothing that cannot be seen there."""

import pytest

from gossamer.parse.links import is_unfollowed
from gossamer.parse.parts import (
    APART,
    all_furniture,
    is_of_the_content,
    is_outermost,
    texts_of,
)
from tests.parse.answers import read


def headings(body: str) -> list[str]:
    return texts_of([*filter(is_of_the_content, read(f"<body>{body}").landmarks.headings)])


def furniture(body: str) -> list[str]:
    page = read(f"<body>{body}")
    return texts_of([*filter(is_outermost, all_furniture(page.landmarks))])


def test_headings_of_menus_and_footers_are_none_of_the_page() -> None:
    body = """<nav><h2>menu</h2></nav><div role="navigation"><h3>side</h3></div><main><h1>one</h1><h2>two</h2></main>
    <footer><h4>foot</h4></footer>"""
    assert headings(body) == ["one", "two"]


def test_the_headline_in_the_header_of_the_page_is_a_heading_but_not_in_its_menu() -> None:
    assert headings("<header><h1>Story</h1><h2>Site</h2><nav><h1>Menu</h1></nav></header>") == ["Story"]


def test_headers_and_footers_of_an_article_belong_to_it() -> None:
    body = """<header>top</header><main><header><h1>Story</h1></header><footer>by me</footer></main>
    <article><header>also</header></article><div role=main><footer>too</footer></div><footer>bottom</footer>"""
    assert sorted(furniture(body)) == ["bottom", "top"]
    assert headings(body) == ["Story"]


@pytest.mark.parametrize(
    "around", ["section", "aside", "blockquote", "figure", "details", "dialog open", "fieldset", "div role=article"]
)
def test_headers_and_footers_of_a_part_belong_to_it(around: str) -> None:
    body = f"<{around}><header><h2>Story</h2><p>words</p></header><footer>by me</footer></{around.split()[0]}>"
    assert furniture(body) == []
    assert headings(body) == ["Story"]


def test_headers_and_footers_in_a_cell_belong_to_it() -> None:
    assert furniture("<table><tr><td><header>a</header><td><footer>b</footer></table><footer>c</footer>") == ["c"]


def test_wrappers_that_mean_nothing_change_nothing() -> None:
    assert furniture("<div><form><header>a</header><div><footer>b</footer></div></form></div>") == ["a", "b"]


def test_roles_make_furniture_of_anything() -> None:
    body = """<div role=banner>top <nav>menu</nav></div><section><p role=ContentInfo>bottom</p></section>
    <p role=region>words</p>"""
    assert sorted(furniture(body)) == ["bottom", "top menu"]
    assert headings("<p role=banner><div role=banner><h1>Story</h1><h2>Site</h2></div>") == ["Story"]
    assert headings("<div role=contentinfo><h1>Story</h1><h2>Site</h2></div>") == []


def test_furniture_inside_furniture_is_not_named_twice() -> None:
    assert furniture("<header>a <nav>b</nav></header><footer role=navigation>c <nav>d</nav></footer>") == ["a b", "c d"]


def test_an_aside_is_furniture_only_if_it_calls_itself_navigation() -> None:
    assert furniture("<aside>words</aside><aside role=Navigation>menu</aside>") == ["menu"]
    assert furniture("<p role='navigation&nbsp;x'>words</p><p role='x\tnavigation'>menu</p>") == ["menu"]


@pytest.mark.parametrize(
    ("element", "text"),
    [
        ("<h1>C<b>R</b>M</h1>", "CRM"),
        ("<h1>CRM<br>software</h1>", "CRM software"),
        ("<h1>A<span hidden>B</span>C</h1>", "AC"),
        ("<h1>A<span style='display:none'>B</span>C</h1>", "AC"),
        ("<h1 hidden>A</h1>", ""),
        ("<div hidden><h1>A</h1></div>", ""),
        ("<div style='display: none'><p></p><div><h1>A <br>B</h1></div></div>", ""),
        ("<div style='display: block'><h1>A <br>B</h1></div>", "A B"),
        ("<body style='visibility:hidden'><h1>A</h1>", "A"),
        ("<template><h1>A</h1></template>", ""),
        ("<dialog><h1>A</h1></dialog>", ""),
        ("<dialog><h1>A<br>B</h1></dialog>", ""),
        ("<dialog open><h1>A<br>B</h1></dialog>", "A B"),
        ("<dialog open><h1>A</h1></dialog>", "A"),
        ("<div popover=manual><h1>A</h1></div>", ""),
        ("<div popover><h1>A<br>B</h1></div>", ""),
        ("<h1>A<span popover>B</span>C</h1>", "AC"),
        ("<h1>CRM<sup>1</sup></h1>", "CRM¹"),
        ("<h1>soft\u00adhyphen &amp; more</h1>", "softhyphen & more"),
        ("<h1><button>one</button><button>two</button></h1>", "one two"),
    ],
)
def test_a_part_says_what_a_visitor_sees(element: str, text: str) -> None:
    assert "".join(texts_of(read(f"{element}<p>rest").tree.find_all("h1"))) == text


def test_texts_stay_apart_even_behind_markup_that_swallows_the_rest() -> None:
    tree = read(f"<h1>a<br>{APART}b</h1><h2>c<br></h2><h3>d<plaintext>e</h3>").tree
    assert texts_of([tree.find("h1"), tree.find("h2")]) == ["a b", "c"]
    assert texts_of([tree.find("h3"), tree.find("h2")])[1] == "c"


def test_reading_parts_leaves_the_tree_as_it_was() -> None:
    page = read("<nav><form><button>a</button></form></nav><h1>b<img></h1>")
    before = page.tree.html
    texts_of([*page.landmarks.headings, *all_furniture(page.landmarks)])
    assert page.tree.html == before


def test_what_is_no_recommendation() -> None:
    links = read("<a rel='noopener NoFollow'>1</a><a rel=ugc>2</a><a rel=sponsored>3</a><a rel=noopener>4</a><a>5</a>")
    assert [is_unfollowed(link.attr("rel") or "") for link in links.tree.find_all("a")] == [
        True,
        True,
        True,
        False,
        False,
    ]
