"""Where a keyword stands on a page: the best of its places counts."""

import pytest

from gossamer.analyze.keywords import KeywordMatcher
from gossamer.analyze.positions import positions_of
from tests.parse.answers import read


def place(body: str, keyword: str = "CRM") -> str:
    """The place of a keyword that is on the page."""
    matcher, doc = KeywordMatcher([keyword, "the", "and"]), read(body)
    return str(positions_of(matcher.matches(doc.title, doc.text), doc, matcher)[keyword])


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ("<title>Our CRM</title><nav>CRM</nav>", "title"),
        ("<title>Our CRM</title><h1>CRM</h1><p>CRM</p>", "title"),
        ("<h2>Our <i>CRM</i></h2><p>CRM</p>", "heading"),
        ("<p>CRM</p><nav>CRM</nav><footer>CRM</footer>", "body"),
        ("<main><nav>CRM</nav></main><p>words</p>", "navigation"),
        ("<div role=navigation>CRM</div><header>CRM</header><footer>CRM</footer>", "navigation"),
        ("<footer><h3>CRM</h3></footer>", "navigation"),
        ("<nav><a href=/>Shop</a><a href=/b>CRM</a></nav>", "navigation"),
        ("<nav><a href=/>Shop</a><i class=dot></i><a href=/b>CRM</a></nav>", "navigation"),
        ("<header><nav>CRM</nav></header><h2>scramble</h2>", "navigation"),
        ("<article><header><p>CRM</p></header></article>", "body"),
        ("<article><header><h1>CRM</h1></header></article>", "heading"),
        ("<aside>CRM</aside>", "body"),
        ("<section><header><h2>Our CRM</h2><p>The CRM.</p></header><p>x</p></section>", "heading"),
        ("<section><header><p>The CRM.</p></header><p>x</p></section>", "body"),
        ("<blockquote><p>x</p><footer>Jane, CRM lead</footer></blockquote>", "body"),
        ("<div role=contentinfo>CRM</div>", "navigation"),
        ("<div role=banner><h2>CRM</h2></div>", "navigation"),
        ("<div role=banner><h1>CRM</h1></div>", "heading"),
        ("<footer role=contentinfo>CRM</footer><section><footer role=contentinfo>CRM</footer></section>", "navigation"),
        ("<nav>CRM<sup>1</sup></nav>", "navigation"),
        ("<dialog><h2>CRM</h2></dialog><p>CRM</p>", "body"),
        ("<table><tr><td>CRM</table>", "body"),
    ],
)
def test_the_best_place_counts(body: str, where: str) -> None:
    assert place(body) == where


@pytest.mark.parametrize(
    ("body", "where"),
    [
        # What is hidden in a menu is no mention, so it cannot make up for one in the text.
        ("<nav>CRM<span hidden>CRM</span></nav><p>CRM</p>", "body"),
        ("<div hidden><nav>CRM</nav></div><p>CRM</p>", "body"),
        ("<nav>sCRaMble CRMs</nav><p>CRM</p>", "body"),
        ("<div hidden><h1>CRM</h1></div><footer>CRM</footer>", "navigation"),
        ("<h1>CRMs</h1><footer>CRM</footer>", "navigation"),
        ("<template><h1>CRM</h1></template><p>CRM</p>", "body"),
        # Buttons part words, inline markup does not.
        ("<nav><button>CRM</button><button>Blog</button></nav>", "navigation"),
        ("<nav><ul><li>CRM<li>Blog</ul></nav>", "navigation"),
        ("<nav>C<b>R</b>M</nav>", "navigation"),
    ],
)
def test_only_what_a_visitor_can_read_there_counts(body: str, where: str) -> None:
    assert place(body) == where


def test_phrases_are_found_across_the_markup_of_a_part() -> None:
    assert place("<nav>CRM<br>software</nav>", "CRM software") == "navigation"
    assert place("<h1>CRM<br>software</h1>", "CRM software") == "heading"


def test_a_phrase_that_only_two_parts_together_make_stands_in_neither() -> None:
    assert place("<nav>the CRM</nav><footer>software</footer>", "CRM software") == "body"


def test_small_readings_beside_characters_do_not_hide_a_word() -> None:
    assert place("<nav><ruby>東<rt>とう</rt>京<rt>きょう</rt></ruby></nav>", "東京") == "navigation"


@pytest.mark.parametrize(
    ("body", "keyword", "where"),
    [
        ("<h2>Our CRM<a href=#crm>¶</a></h2><p>CRM</p>", "CRM", "heading"),
        ("<h2>1.\xa0Our\xa0CRM¶</h2><p>CRM</p>", "Our CRM", "heading"),
        ("<h2>Größe¶</h2><p>Größe</p>", "größe", "heading"),
        ("<h2>C¶RM</h2><p>CRM</p>", "CRM", "body"),
        ("<h2>§ 5 ¶ 3</h2><p>¶ 3</p>", "¶ 3", "heading"),
        ("<h2>words</h2><p>¶</p>", "¶", "body"),
        ("<nav>CRM¶</nav><h2>words</h2>", "CRM", "navigation"),
        ("<nav>¶ ¶ ¶</nav><p>words</p>", "¶", "navigation"),
        ("<h2>words</h2><h3>¶ more</h3><p>¶</p>", "¶", "heading"),
    ],
)
def test_the_mark_of_a_link_to_a_heading_is_in_nobodys_way(body: str, keyword: str, where: str) -> None:
    assert place(body, keyword) == where


def test_each_keyword_has_its_own_place() -> None:
    matcher = KeywordMatcher(["one", "two", "three", "four"])
    doc = read("<title>one</title><h1>two one</h1><p>three</p><footer>four three two one</footer>")
    places = positions_of(matcher.matches(doc.title, doc.text), doc, matcher)
    assert {keyword: str(where) for keyword, where in places.items()} == {
        "one": "title",
        "two": "heading",
        "three": "body",
        "four": "navigation",
    }


def test_thousands_of_headings_are_read_in_reasonable_time() -> None:
    body = "".join(f"<h2>heading {at}<br></h2>" for at in range(20_000)) + "<nav>CRM</nav>"
    assert place(body) == "navigation"
