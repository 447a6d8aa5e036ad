"""Pages with a good status that are not what they seem, and the normal ones that only look like them."""

import pytest

from gossamer.judge.bot_protections import MARKS, WIDGETS, Mark
from gossamer.model.trouble import Reason, Trouble
from tests.judge.pages import ARTICLE, LONG_ARTICLE, MENU, PROSE, flaw, html
from tests.parse.answers import URL


@pytest.mark.parametrize(
    ("body", "vendor", "reason"),
    [
        (
            html("Just a moment...", "<h2>Checking</h2><script>window._cf_chl_opt={}</script>"),
            "Cloudflare",
            Reason.BLOCKED,
        ),
        (html("Just a moment...", '<div id="challenge-running"></div>'), "Cloudflare", Reason.BLOCKED),
        (
            html("Nur einen Moment…", "<script>(function(){window._cf_chl_opt = {}})()</script>"),
            "Cloudflare",
            Reason.BLOCKED,
        ),
        (html("x", "<h1>Sorry, you have been blocked</h1>You are unable to access"), "Cloudflare", Reason.BLOCKED),
        (html("x", "<script>var dd={'rt':'i','cid':'x'}</script>"), "DataDome", Reason.BLOCKED),
        (html("x", "<div id='px-captcha'></div>"), "HUMAN", Reason.CAPTCHA),
        (html("Access to this page has been denied", "<p>Press &amp; Hold"), "HUMAN", Reason.BLOCKED),
        (html("", "<iframe src='/_Incapsula_Resource?CWUDNSAI=9'></iframe>"), "Imperva", Reason.BLOCKED),
        (html("", "Request unsuccessful. Incapsula incident ID: 1"), "Imperva", Reason.BLOCKED),
        (html("", "<script>window.gokuProps = {}</script>"), "AWS WAF", Reason.BLOCKED),
        (
            html("Request Rejected", "The requested URL was rejected. Please consult with your administrator."),
            "F5",
            Reason.BLOCKED,
        ),
        (html("Making sure you’re not a bot!", '<script id="anubis_challenge">{}</script>'), "Anubis", Reason.BLOCKED),
        (html("Vercel Security Checkpoint", "<p>We are verifying"), "Vercel", Reason.BLOCKED),
        (html("Sorry", "Our systems have detected unusual traffic from your network."), "Google", Reason.CAPTCHA),
        (html("x", "<div class=h-captcha data-sitekey=x></div>"), "hCaptcha", Reason.CAPTCHA),
        (html("Access Denied", "<p>You do not have permission."), "unrecognised", Reason.BLOCKED),
    ],
)
def test_block_pages_with_a_good_status_are_known(body: str, vendor: str, reason: Reason) -> None:
    assert flaw(body) == Trouble(reason, vendor, 200)


@pytest.mark.parametrize("mark", MARKS, ids=lambda mark: mark.text.decode())
def test_every_mark_is_found_on_a_tiny_page(mark: Mark) -> None:
    spoken = mark.text.decode().replace("&amp;", "&") if mark.spoken else ""
    code = "" if mark.spoken else f"<script>/* {mark.text.decode()} */</script>"
    headers = {mark.header: mark.value or "x"} if mark.header else None
    found = flaw(html("Hello", f"<p>{spoken}</p>{code}"), headers=headers)
    assert found is not None
    assert (found.reason, found.detail) == (mark.verdict.reason, mark.verdict.vendor)


@pytest.mark.parametrize("mark", [*MARKS, *WIDGETS], ids=lambda mark: mark.text.decode())
def test_no_mark_condemns_a_long_page(mark: Mark) -> None:
    marked = mark.text.decode()
    headers = {mark.header: mark.value or "x"} if mark.header else None
    body = f"<h1>Notes</h1>{LONG_ARTICLE}<p>{marked}</p><script>/* {marked} */</script>"
    assert flaw(html("Notes", body), headers=headers) is None


@pytest.mark.parametrize(
    "mark", [mark for mark in (*MARKS, *WIDGETS) if mark.weak], ids=lambda mark: mark.text.decode()
)
def test_weak_marks_condemn_no_page_of_normal_length(mark: Mark) -> None:
    body = f"<h1>Notes</h1>{ARTICLE}<script>/* {mark.text.decode()} */</script>"
    assert flaw(html("Notes", body), headers={mark.header: mark.value or "x"} if mark.header else None) is None


@pytest.mark.parametrize(
    "body",
    [
        html(
            "How Cloudflare challenges work",
            f"<h1>Just a moment...</h1><p>Look for <code>_cf_chl_opt</code>.</p>{PROSE}",
        ),
        html("What is Incapsula incident ID?", f"<ul>{MENU}</ul><p>Incapsula incident ID is shown when ...</p>"),
        html("CAPTCHA explained", f"<h1>What is a captcha?</h1><p>g-recaptcha, h-captcha and px-captcha</p>{ARTICLE}"),
        html("Access denied: a novel", ARTICLE),
        html(
            "Contact",
            "<form><input name=name><textarea name=text></textarea><div class=g-recaptcha></div></form>Write to us",
        ),
        html("Home", f"<script src=/cdn-cgi/challenge-platform/scripts/jsd/main.js></script>{PROSE}"),
        html("Home", f"<script src='/_Incapsula_Resource?SWJIYLWA=7'></script>{ARTICLE}"),
    ],
)
def test_pages_about_blocks_are_not_blocks(body: str) -> None:
    assert flaw(body) is None


def test_a_redirect_into_a_captcha_is_a_block() -> None:
    place = "https://shop.example/.well-known/sgcaptcha/?r=%2F"
    assert flaw(html("", "x"), url=place, requested=URL) == Trouble(Reason.CAPTCHA, "SiteGround", 200)
    assert flaw(html("", PROSE), url=place) is None


@pytest.mark.parametrize(
    "body",
    [
        html("App", '<div id="root"></div><script src="/app.js"></script>'),
        html(
            "App", "<div id=app>Loading...</div><script src=/app.js></script><footer>© 2026 Harbour and Sons</footer>"
        ),
        html("App", '<app-root></app-root><script type="module" src="/main.js"></script>'),
        html(
            "App",
            "<noscript>You need to enable JavaScript to run this app.</noscript><div></div><script src=/a.js></script>",
        ),
        html("App", "<p>Please enable JavaScript to view this site.</p><script>start()</script>"),
        html("Go", "<script>window.location = '/elsewhere'</script>"),
        html("", "<script src=/x.js></script>"),
    ],
)
def test_shells_that_a_script_would_fill_are_hollow(body: str) -> None:
    assert flaw(body) == Trouble(Reason.HOLLOW, http_status=200)


@pytest.mark.parametrize(
    "body", ["<html><head></head><body></body></html>", html("Title only", " "), "<!-- nothing -->"]
)
def test_a_page_with_nothing_on_it_is_empty(body: str) -> None:
    assert flaw(body) == Trouble(Reason.EMPTY, http_status=200)


@pytest.mark.parametrize(
    "body",
    [
        html("App", f"<div id=root><h1>Rendered</h1>{ARTICLE}</div><script src=/app.js></script>"),
        html("Pictures", "<img src=1.jpg><img src=2.jpg><script src=/count.js></script>"),
        html("Frames", "").replace("<body></body>", "<frameset><frame src=a></frameset>"),
        html("Short", "<p>Harbour and Sons, 12 Quay Street. Open from eight to five, except on Sundays.</p>"),
        html("Short", "<p>Closed.</p>"),
        html("Moved", "<script src=/x.js></script>", '<meta http-equiv="refresh" content="0;url=/new">'),
        html("Menu", f"<ul>{MENU}</ul><script src=/count.js></script>"),
        html("Data", '<p>Hi</p><script type="application/ld+json">{}</script>'),
        html(
            "Learn",
            "<p>Interactive JavaScript lessons for beginners, every Tuesday in the boathouse.</p><script>x()</script>",
        ),
    ],
)
def test_short_pages_with_something_on_them_are_pages(body: str) -> None:
    assert flaw(body) is None


@pytest.mark.parametrize(
    "body",
    [
        html("404", "<p>Sorry.</p>"),
        html("Page not found (404)", "<p>Sorry.</p>"),
        html("Page not found | Harbour &amp; Sons", "<p>That page is gone.</p>"),
        html("Harbour - 404 Not Found", "<p>Nothing here.</p>"),
        html("Seite nicht gefunden – Hafen", f"<h1>Seite nicht gefunden</h1><ul>{MENU}</ul>{ARTICLE}"),
        html("ページが見つかりません", "<p>お探しのページは見つかりませんでした。</p>"),
        html("Harbour", "<h1>Oops! That page can’t be found.</h1><p>Try a search.</p>"),
        html("Page Not Found (404)", f"<header>{PROSE}</header><h1>Page not found</h1>"),
    ],
)
def test_pages_that_say_not_found_are_soft_404s(body: str) -> None:
    assert flaw(body) == Trouble(Reason.SOFT_404, http_status=200)


def test_a_redirect_to_the_not_found_page_is_a_soft_404() -> None:
    body = html("Harbour", f"<p>{PROSE}</p>")
    assert flaw(body, url="https://shop.example/404.html", requested=URL) == Trouble(Reason.SOFT_404, http_status=200)
    assert flaw(body, url="https://shop.example/404.html") is None


@pytest.mark.parametrize(
    "body",
    [
        html("404 Not Found: what it means and how to mend it", f"<h1>404 Not Found: what it means</h1>{ARTICLE}"),
        html("How to design a page not found page", f"<h1>Page not found, nicely</h1>{ARTICLE}"),
        html("HTTP 404 - Encyclopedia", f"<h1>HTTP 404</h1>{LONG_ARTICLE}"),
        html("Page not found", LONG_ARTICLE),
        html("Lost and not found boats", PROSE),
        html("Room 404 | Harbour Hotel", PROSE),
    ],
)
def test_pages_about_missing_pages_are_pages(body: str) -> None:
    assert flaw(body) is None


@pytest.mark.parametrize(
    "body",
    [
        html("shop.example", "<p>Welcome</p><script src=https://img.sedoparking.com/js/x.js></script>"),
        html("", '<script>window.onload=function(){window.location.href="/lander"}</script>'),
        html("shop.example is for sale", "<p>Make us an offer for shop.example today.</p>"),
        html("shop.example", "<h1>This domain may be for sale!</h1><p>Buy this domain. Related: boats, CRM</p>"),
        html("Parked", "<p>This domain is parked.</p>"),
        html("shop.example", "<p>Diese Domain steht zum Verkauf: shop.example</p>"),
    ],
)
def test_parked_domains_are_known(body: str) -> None:
    assert flaw(body) == Trouble(Reason.PARKED, http_status=200)


@pytest.mark.parametrize(
    "body",
    [
        html("Domain broker", f"<h1>Is this domain for sale? Buy this domain!</h1>{ARTICLE}"),
        html("Boats", "<p>This boat is for sale. Contact sales@shop.example to make an offer. Built in 1974, oak.</p>"),
        html("Auction", f"<ul>{MENU}</ul><p>shop.example: This domain is for sale? No, our boats are.</p>"),
    ],
)
def test_pages_about_sales_are_pages(body: str) -> None:
    assert flaw(body) is None


LOGIN_FORM = "<form><input name=user><input type=password name=password><button>Go</button></form>"


def test_a_password_instead_of_the_page_is_a_login_wall() -> None:
    wall = html("Log in | Harbour", f"<h1>Members</h1>{LOGIN_FORM}")
    found = flaw(wall)
    assert found == Trouble(Reason.LOGIN, "login form instead of the page", 200)
    moved = flaw(html("Harbour", LOGIN_FORM), url="https://shop.example/login?next=/x", requested=URL)
    assert moved == Trouble(Reason.LOGIN, "redirected to a login page", 200)


@pytest.mark.parametrize(
    ("body", "url"),
    [
        (html("Log in", f"<h1>Log in</h1>{LOGIN_FORM}"), "https://shop.example/login"),
        (html("Log in", f"<h1>Log in</h1>{LOGIN_FORM}"), "https://shop.example/wp-login.php?redirect_to=x"),
        (html("Harbour and Sons", f"{LOGIN_FORM}{ARTICLE}"), URL),
        (html("Log in to your boat", f"<p>{PROSE}</p>"), URL),
        (html("Sign in sheet for the regatta", f"{LOGIN_FORM}<p>{PROSE}</p>"), URL),
    ],
)
def test_pages_with_a_login_are_not_walls(body: str, url: str) -> None:
    assert flaw(body, url=url) is None


@pytest.mark.parametrize(
    ("title", "body"),
    [
        ("Welcome to nginx!", "<h1>Welcome to nginx!</h1><p>If you see this page, the web server works. CRM</p>"),
        ("Account Suspended", "<h1>Account Suspended</h1>This account has been suspended. Contact your CRM provider."),
        ("Database Error", "<h1>Error establishing a database connection</h1> CRM"),
        ("Maintenance mode", "<p>We are back soon with our CRM.</p>"),
    ],
)
def test_a_placeholder_is_no_page(title: str, body: str) -> None:
    found = flaw(html(title, body))
    assert found
    assert found.reason is Reason.PLACEHOLDER


@pytest.mark.parametrize("body", [LONG_ARTICLE, f"<p>{PROSE}</p><ul>{MENU}</ul>"])
def test_an_article_of_that_title_is_a_page(body: str) -> None:
    assert flaw(html("Account Suspended", body)) is None
