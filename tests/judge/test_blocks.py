"""Marks of bot protections: where they act, and where a normal page only names them."""

import pytest

from gossamer.judge import find_trouble
from gossamer.model.trouble import Reason, Trouble
from tests.judge.pages import ARTICLE, PROSE, flaw, html
from tests.parse.answers import answer

WEBSHIELD = {"server": "imunify360-webshield/1.21"}
SPLASH = html(
    "One moment, please...",
    "<h1>Please wait while your request is being verified...</h1>"
    '<form id="wsidchk-form" action="/z0f76a1d14" method=GET><input type=hidden id=wsidchk name=wsidchk></form>'
    "<script>(function(){})()</script>",
)
DEVICE_CHECK = (
    '<html lang="en"><head><title>shop.example</title></head><body style="margin:0"><p id="cmsg">Please enable JS and '
    "disable any ad blocker</p><script>var dd={'rt':'c','cid':'AH','hsh':'1','t':'fe','s':1,'host':"
    "'geo.captcha-delivery.com'}</script><script src=\"https://ct.captcha-delivery.com/c.js\"></script></body></html>"
)
PRESS_AND_HOLD = html(
    "Access to this page has been denied",
    '<p>Press & Hold to confirm you are a human</p><div id="px-captcha"></div>'
    "<script>window._pxAppId='PX1';var s='https://captcha.px-cdn.net/PX1/captcha.js'</script>",
)


@pytest.mark.parametrize("headers", [WEBSHIELD, {}])
def test_the_splash_of_imunify_is_a_block(headers: dict[str, str]) -> None:
    assert flaw(SPLASH, headers=headers) == Trouble(Reason.BLOCKED, "Imunify360", 200)


def test_imunify_is_known_by_what_it_says_and_by_its_header() -> None:
    said = html("One moment, please...", "<p>Please wait while your request is being verified...</p>")
    assert flaw(said) == Trouble(Reason.BLOCKED, "Imunify360", 200)
    elsewhere = html("", "<p>少々お待ちください</p><script>var a='wsidchk'</script>")
    assert flaw(elsewhere) == Trouble(Reason.BLOCKED, "Imunify360", 200)
    title = html("One moment, please...", "<p>Loading</p><img src=wait.gif>")
    assert flaw(title, headers=WEBSHIELD) == Trouble(Reason.BLOCKED, "Imunify360", 200)
    for status in (403, 415):
        refused = find_trouble(answer("<p>no", status=status, headers=WEBSHIELD))
        assert refused == Trouble(Reason.BLOCKED, "Imunify360", status)


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (html("Harbour", f"<h1>Welcome</h1><p>{PROSE}</p>"), WEBSHIELD),
        (html("One moment, please...", "<h1>A poem</h1><p>One moment, please, and then the boat is gone.</p>"), {}),
        (html("One moment, please...", "<h1>A poem</h1><img src=a.png>"), {"server": "nginx"}),
        (html("Webshield", f"<h1>What is wsidchk?</h1><p>The form is called wsidchk-form. {PROSE}</p>"), {}),
        (html("One moment, please...", f"<h1>One moment, please...</h1>{ARTICLE}"), WEBSHIELD),
    ],
)
def test_pages_behind_imunify_or_about_it_are_pages(body: str, headers: dict[str, str]) -> None:
    assert flaw(body, headers=headers) is None


@pytest.mark.parametrize(
    "named",
    [
        "<link rel=preconnect href='https://ct.captcha-delivery.com'>",
        "<link rel=dns-prefetch href='//geo.captcha-delivery.com'>",
        "<meta http-equiv=Content-Security-Policy content='frame-src https://geo.captcha-delivery.com'>",
        "<meta http-equiv=Content-Security-Policy content='script-src captcha.px-cdn.net *.arkoselabs.com/'>",
        "<style>#px-captcha{display:none}</style>",
        "<style id=px-captcha-css>#px-captcha-modal{margin:0}</style>",
        "<style>.g-recaptcha{margin:0}</style>",
        "<style>.h-captcha,.cf-turnstile,.frc-captcha{margin:0}</style>",
        "<link rel=stylesheet id=h-captcha-css href=/h-captcha.css>",
    ],
)
@pytest.mark.parametrize("text", [f"<p>{PROSE}</p>", ARTICLE], ids=["tiny", "normal"])
def test_a_protection_that_is_only_named_stops_nobody(named: str, text: str) -> None:
    assert flaw(html("Harbour", f"<h1>Our boats</h1>{text}", head=named)) is None


def test_a_box_made_ready_for_a_captcha_stops_nobody() -> None:
    assert flaw(html("Harbour", f"<h1>Our boats</h1>{ARTICLE}<div class=px-captcha-container hidden></div>")) is None


@pytest.mark.parametrize(
    "script", ["var allowed=['geo.captcha-delivery.com']", "hide('px-captcha')", "var s='captcha.px-cdn.net'"]
)
def test_a_script_that_names_a_protection_stops_nobody_on_a_page_with_text(script: str) -> None:
    assert flaw(html("Harbour", f"<h1>Our boats</h1>{ARTICLE}<script>{script}</script>")) is None


@pytest.mark.parametrize(
    ("body", "reason", "vendor"),
    [
        (DEVICE_CHECK, Reason.BLOCKED, "DataDome"),
        (PRESS_AND_HOLD, Reason.BLOCKED, "HUMAN"),  # by its title
        (PRESS_AND_HOLD.replace("been denied", "been refused"), Reason.CAPTCHA, "HUMAN"),
        (html("x", f"<iframe src='https://geo.captcha-delivery.com/captcha/?a=b'></iframe><p>{PROSE * 3}</p>"),
         Reason.BLOCKED, "DataDome"),
        (html("x", "", "<meta http-equiv=refresh content='0;url=https://geo.captcha-delivery.com/interstitial/'>"),
         Reason.BLOCKED, "DataDome"),
        (html("x", f"<div class='box px-captcha'></div><p>{PROSE * 3}</p>"), Reason.CAPTCHA, "HUMAN"),
        (html("x", f"<script src='//captcha.px-cdn.net/PX1/captcha.js'></script><p>{PROSE * 3}</p>"),
         Reason.CAPTCHA, "HUMAN"),
        (html("x", "<p>One last step</p><script>s.src='//captcha.px-cdn.net/PX1/captcha.js'</script>"),
         Reason.CAPTCHA, "HUMAN"),
        (html("x", "<p>One last step</p><div class=g-recaptcha></div>", "<style>.g-recaptcha{}</style>"),
         Reason.CAPTCHA, "reCAPTCHA"),
        (html("x", "<p>One last step</p><script src=https://client-api.arkoselabs.com/v2/1/api.js></script>"),
         Reason.CAPTCHA, "Arkose"),
    ],
)  # fmt: skip
def test_a_protection_that_acts_is_a_block(body: str, reason: Reason, vendor: str) -> None:
    assert flaw(body) == Trouble(reason, vendor, 200)


@pytest.mark.parametrize(("body", "vendor"), [(DEVICE_CHECK, "DataDome"), (PRESS_AND_HOLD, "HUMAN")])
def test_with_an_error_they_are_blocks_as_well(body: str, vendor: str) -> None:
    found = find_trouble(answer(body, status=403))
    assert found
    assert found.detail == vendor
