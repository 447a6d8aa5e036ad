"""Pages that say "not found" with a good status: in their title, or only in a heading within a site's frame."""

import pytest

from gossamer.model.trouble import Reason, Trouble
from tests.judge.pages import ARTICLE, LONG_ARTICLE, MENU, PROSE, flaw, html

MISSING = Trouble(Reason.SOFT_404, http_status=200)
WIDE_MENU = "<nav>" + "".join(f"<a href=/p{n}>Menu item {n} of our site</a> " for n in range(35)) + "</nav>"
LINK_LIST = "<ul>" + "".join(f"<li><a href=/p{n}>Menu item {n} of our site</a>" for n in range(60)) + "</ul>"
SORRY = "<p>You may have mistyped the address, or the page has moved. Try the menu above.</p>"


@pytest.mark.parametrize(
    ("title", "heading"),
    [
        ("Harbour", "We can't find the page you're looking for"),
        ("Harbour", "We can’t find the page you’re looking for."),
        ("Harbour", "Sorry, the page you are looking for could not be found"),
        ("Harbour", "Sorry, but the page you requested was not found!"),
        ("Harbour", "The page you requested could not be found"),
        ("Harbour", "Hmm... we couldn't find that page"),
        ("Harbour", "Product not found"),
        ("Harbour", "Oops! This page doesn’t exist"),
        ("The page you were looking for doesn't exist (404)", "The page you were looking for doesn't exist."),
        ("The page you were looking for doesn’t exist (404)", "Hello"),
        ("The resource cannot be found.", "Server Error in '/' Application."),
        ("Product not found | Harbour", "Oh"),
        ("Item Not Found - Harbour", "Oh"),
        ("Error 404 (Not Found)!!1", "404. That’s an error."),
        ("Not Found (#404)", "Not Found (#404)"),
        ("Nothing found for Boats Of Oak", "Oh"),
        ("Nothing found for boats - Harbour", "Oh"),
        ("This page can't be found", "Oh"),
        ("This page can’t be found | Harbour", "Oh"),
        ("Requested page not found", "Oh"),
        ("Sorry, we couldn't find that page", "Oh"),
        ("Sorry, we couldn’t find that page – Harbour", "Oh"),
        ("404 - File or directory not found.", "Server Error"),
        ("404 Error: Page Not Found", "Oh"),
        ("Whoops! 404", "Oh"),
        ("HTTP Status 404 – Not Found", "HTTP Status 404 – Not Found"),
        ("404: NOT_FOUND", "Oh"),
        ("Harbour « Page not found", "Oh"),
    ],
)
def test_the_usual_ways_of_saying_so_are_known(title: str, heading: str) -> None:
    assert flaw(html(title, f"<h1>{heading}</h1>{SORRY}")) == MISSING


@pytest.mark.parametrize(
    "body",
    [
        html("Harbour", f"{WIDE_MENU}<h1>Page not found</h1><p>Sorry.</p>"),
        html("Harbour", f"{LINK_LIST}<h1>Page not found</h1><p>Sorry.</p>"),
        html("Harbour", f"{WIDE_MENU}<h1>404</h1><h2>Page not found</h2>{SORRY}"),
        html("Harbour", f"<h1>We can’t find that page</h1>{SORRY}<footer>{ARTICLE}</footer>"),
        html("Harbour", f"<h1>Page not found</h1>{SORRY}<script>/* {PROSE * 9} */</script>{LINK_LIST}"),
        html("Page not found - Harbour", f"{WIDE_MENU}<h1>Oh</h1><p>Sorry.</p>"),
        html("Product not found - Harbour", f"{WIDE_MENU}<h1>Product not found</h1><p>Sorry.</p>"),
    ],
)
def test_menus_round_it_change_nothing(body: str) -> None:
    assert flaw(body) == MISSING


@pytest.mark.parametrize(
    "body",
    [
        html("What to do when a page is not found", f"<h1>What to do when a page is not found</h1><p>{PROSE}</p>"),
        html("Why Google says page not found", f"<h1>Why Google says page not found</h1><p>{PROSE}</p>"),
        html("Fix: product not found error in checkout", f"<h1>Fix: product not found error</h1><p>{PROSE}</p>"),
        html("Product not found - Help", f"<h1>Product not found</h1><p>{PROSE * 3}</p>"),
        html("Product not found", f"<h1>Product not found</h1>{ARTICLE}"),
        html("Help", f"<h1>Item not found</h1><p>{PROSE * 3}</p>"),
        html("Nothing found for the defence: a trial in Leeds", ARTICLE),
        html("Boats that could not be found", f"<h1>Boats that could not be found</h1><p>{PROSE}</p>"),
        html("The ship that doesn't exist", f"<h1>The ship that doesn't exist</h1><p>{PROSE}</p>"),
        html("We can't find good oak any more", f"<h1>We can't find good oak any more</h1><p>{PROSE}</p>"),
        html("Harbour news - Page 404", f"<h1>Harbour news</h1><p>{PROSE}</p>"),
        # A new site without posts has such a heading on its homepage.
        html("Harbour", "<h1>Nothing Found</h1><p>Ready to publish your first post? Get started here.</p>"),
    ],
)
def test_titles_that_only_speak_of_it_are_those_of_pages(body: str) -> None:
    assert flaw(body) is None


@pytest.mark.parametrize(
    "body",
    [
        html("Harbour", f"<h1>Page not found</h1><p>{PROSE * 5}</p>"),
        html("Harbour", f"{WIDE_MENU}<h1>We can't find the page you're looking for</h1><p>{PROSE * 5}</p>"),
        html("Harbour", f"<h1>Page not found</h1><div>{PROSE * 2}<br>{PROSE * 3}</div><footer>{MENU}</footer>"),
        html("Harbour Bikes", f"<h1>404</h1>{LINK_LIST}"),
        html("404 | Harbour Bikes", f"<h1>The 404, a bike for the road</h1>{LINK_LIST}"),
        html("Harbour", f"<h1>Page not found</h1>{LONG_ARTICLE}"),
    ],
)
def test_an_article_of_that_heading_is_a_page(body: str) -> None:
    assert flaw(body) is None


WANTED = "We can't find the page you're looking for."
PERHAPS = "<p>Perhaps you were looking for our boats? Write to us and we will help.</p>"


@pytest.mark.parametrize(
    "body",
    [
        f"<h1>Sorry</h1><p>{WANTED}</p>{PERHAPS}",
        f"<h1>Oops!</h1><p>{WANTED.replace(chr(39), chr(8217))}</p>{PERHAPS}",
        f"{WIDE_MENU}<h1>Sorry!</h1><h2>{WANTED}</h2>{PERHAPS}",
        f"<h2>{WANTED}</h2>{PERHAPS}",
        f"<p>{WANTED}</p>",
        f"<h1>We're sorry...</h1><p>The page you requested could not be found.</p>{PERHAPS}",
        "<h1>Uh oh</h1><p>This page you were looking for does not exist.</p>",
        f"{WIDE_MENU}<div class=title>Page not found</div>",
    ],
)
def test_a_sigh_and_a_sentence_are_no_page(body: str) -> None:
    assert flaw(html("Harbour", body)) == MISSING


@pytest.mark.parametrize(
    "body",
    [
        f"<h1>Broken links</h1><p>{WANTED} That is what many sites say.</p>",
        "<p>If the page you want is not found, write to us and we will look for it.</p>",
        "<p>Tell us when the page you requested was not found.</p>",
        f"<h1>Sorry</h1><p>{WANTED}</p><p>{PROSE * 3}</p>",
        f"<p>{WANTED}</p>{ARTICLE}",
        f"<p>Is it page not found that you see? {PROSE}</p>",
        "<h1>Sorry</h1><p>A film by Ken Loach about a man who delivers parcels.</p>",
        "<p>We can't find the oak we need for the boats you asked for.</p>",
    ],
)
def test_a_sentence_about_it_is_no_verdict(body: str) -> None:
    assert flaw(html("Harbour", body)) is None


CARDS = "".join(f"<a href=/p{n}><h3>Pump {n}</h3><span>{n} litres a minute</span></a>" for n in range(30))


@pytest.mark.parametrize(
    "body",
    [
        f"<h1>Pumps</h1><dialog><h1>Product not found</h1></dialog>{CARDS}",
        f"<h1>Pumps</h1><div hidden><h1>Page not found</h1></div>{CARDS}",
        f"<div style='display: none'><h1>Page not found</h1></div><h1>Pumps</h1>{CARDS}",
        f"<h1>Pumps</h1>{CARDS}<h1>Product not found</h1>",
        f"<h1>Pumps</h1>{CARDS}<h1>Can't find the product you're looking for?</h1>",
        f"<h1>Can't find the job you're looking for?</h1>{CARDS}",
        f"<h1>Can’t find the page you’re looking for?</h1>{CARDS}",
        f"<h1>Page not found?</h1>{CARDS}",
    ],
)
def test_a_sentence_nobody_sees_or_a_question_is_no_verdict(body: str) -> None:
    assert flaw(html("Pumps | Harbour", body)) is None


@pytest.mark.parametrize(
    "title", ["Can't find the item you're looking for? | Harbour", "Nothing was found for the king: a story"]
)
def test_nor_is_a_title_that_asks_or_tells(title: str) -> None:
    assert flaw(html(title, f"<h1>Oak</h1><p>{PROSE}</p>")) is None


@pytest.mark.parametrize("title", ["page not found", "Page Not Found", "PAGE NOT FOUND!"])
def test_a_title_that_says_nothing_else_counts_in_any_case(title: str) -> None:
    """Also where the page explains itself at length, without a heading."""
    assert flaw(html(title, f"<p>{PROSE * 6}</p>")) == MISSING
