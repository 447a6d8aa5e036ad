"""Block pages by what they say and by their marks, however large their styles are; and what only looks like them."""

import pytest

from gossamer.judge import find_trouble
from gossamer.model.trouble import Reason, Trouble
from tests.judge.pages import ARTICLE, MENU, PROSE, flaw, html
from tests.parse.answers import answer

STYLES = "<style>" + ".frame__inner{color:#123456;margin:0 auto;padding:1rem 2rem}\n" * 3_000 + "</style>"
DRAWING = '<svg viewBox="0 0 9 9"><path d="' + "M1 2L3 4" * 4_000 + '"/></svg>'
PICTURE = '<img alt="" src="data:image/png;base64,' + "QUJD" * 8_000 + '">'
SCRIPT = "<script>" + "window.settings={a:1};\n" * 3_000 + "</script>"
HUMANITY = (
    "<h1>Prove your humanity</h1><p>We keep this place safe for people, and for nobody else. Complete the challenge"
    ' below and let us know you’re a real person.</p><form><div id="widget"></div></form>'
)


@pytest.mark.parametrize(
    "bulk", [STYLES, DRAWING, PICTURE, SCRIPT, f"<!-- {PROSE * 200} -->"], ids=lambda bulk: bulk[:5]
)
def test_a_captcha_page_is_one_whatever_it_brings_along(bulk: str) -> None:
    page = html("Harbour - Prove your humanity", bulk + HUMANITY)
    assert len(page) > 25_000
    assert flaw(page) == Trouble(Reason.CAPTCHA, "unrecognised", 200)


def test_styles_before_the_marks_of_an_error_page_do_not_hide_them() -> None:
    refused = answer(html("no", f'{STYLES}<script>window._cf_chl_opt={{cvId:"3"}}</script>'), status=403)
    assert find_trouble(refused) == Trouble(Reason.BLOCKED, "Cloudflare", 403)


@pytest.mark.parametrize("bulk", [STYLES, SCRIPT], ids=["styles", "script"])
def test_marks_behind_long_styles_and_scripts_are_found(bulk: str) -> None:
    challenge = '<h1>One moment</h1><script>window._cf_chl_opt={cvId:"3"}</script>'
    assert flaw(html("shop.example", bulk + challenge)) == Trouble(Reason.BLOCKED, "Cloudflare", 200)


@pytest.mark.parametrize(
    ("title", "body", "reason"),
    [
        ("shop.example", "<h1>Verify you are human</h1><p>Please wait.</p>", Reason.CAPTCHA),
        ("shop.example", "<p>Please verify that you are a human to go on.</p>", Reason.CAPTCHA),
        ("Just checking", "<p>Checking if you are not a bot. This takes a few seconds.</p>", Reason.CAPTCHA),
        ("Robot or human?", "<p>Activate and hold the button</p>", Reason.BLOCKED),
        ("shop.example", "<h2>Your request has been blocked.</h2><p>Incident 1234-5678</p>", Reason.BLOCKED),
        ("Request blocked", "<p>Ask the owner of the site, and name the number 42.</p>", Reason.BLOCKED),
        ("Error Blocked", "<p>Error</p><p>Number 42</p>", Reason.BLOCKED),
        ("Error: Blocked", "<p>Your IP address has been blocked.</p>", Reason.BLOCKED),
        ("shop.example", "<p>Access to this site has been denied.</p>", Reason.BLOCKED),
        ("ShieldSquare Captcha", f"<p>Please solve this. {PROSE}</p>", Reason.CAPTCHA),
        (
            "Captcha",
            "<p>We apologise, but your activity and behaviour on this site made us think that you are a bot.</p>"
            "<p>Note: a number of things could be going on here.</p>",
            Reason.BLOCKED,
        ),
        ("Waiting Room | Harbour", f"<h1>You are now in line</h1><p>{PROSE * 2}</p>", Reason.BLOCKED),
        ("Harbour", "<p>You are in the queue. Your estimated wait time is 4 minutes.</p>", Reason.BLOCKED),
        ("Queue-it", f"<p>When it is your turn, you have 10 minutes. {PROSE}</p>", Reason.BLOCKED),
        ("Warteraum", "<p>Sie befinden sich in der Warteschlange.</p>", Reason.BLOCKED),
    ],
)
@pytest.mark.parametrize("styles", ["", STYLES], ids=["", "styled"])
def test_what_a_block_page_says_gives_it_away(title: str, body: str, reason: Reason, styles: str) -> None:
    trouble = flaw(html(title, styles + body))
    assert trouble is not None
    assert trouble.reason is reason


@pytest.mark.parametrize(
    "page",
    [
        html("Are you a robot? | Harbour", f"<h1>Are you a robot?</h1>{ARTICLE}{ARTICLE}"),
        html("Waiting rooms", f"<h1>Waiting room</h1><p>{PROSE} Doctors are seldom late.</p>"),
        html("Waiting room", f"{STYLES}<h1>Waiting room</h1><p>Chairs and tables for the waiting room. {PROSE}</p>"),
        html("Blocked", f"{ARTICLE}<p>Your request has been blocked, it said.</p>"),
        html("Harbour", f"<p>Your request has been blocked?</p><p>{PROSE * 3}</p>"),
        html(
            "Write to us",
            "<form><input name=name><textarea></textarea><p>Please verify that you are human.</p>"
            '<div class="g-recaptcha"></div><button>Send</button></form>',
        ),
        html("Harbour", f"<ul>{MENU}</ul><p>Verify you are human before you enter.</p>"),
        html("Harbour", f"<h1>Boats</h1><p>{PROSE}</p><script>{'var x=1;' * 3_000};_pxAppId='PX1'</script>"),
        html("Harbour", f"<h1>Boats</h1><p>{PROSE}</p>{SCRIPT}<script src=/_Incapsula_Resource?a></script>"),
        html("Security Check | Harbour alarms", f"<h1>Security Check</h1><p>{PROSE}</p>"),
        html("Access Denied | Films", f"<h1>Access Denied</h1><p>A thriller in three acts. {PROSE}</p>"),
        html("Harbour", f"<p>See here whether your IP address is blocked by any of 40 lists. {PROSE}</p>"),
        html("Praxis", "<p>Bitte nehmen Sie im Warteraum Platz. Die Praxis ist im ersten Stock.</p>"),
        html("Harbour", "<p>The virtual waiting room for sales: it lets people in one by one.</p>"),
        html("Roads", "<p>This access is blocked by the council until Friday.</p>"),
        html("Unblocked drains | Harbour", f"<h1>Blocked drains</h1><p>{PROSE}</p>"),
    ],
    ids=lambda page: page[40:70],
)
def test_who_speaks_of_blocks_is_none(page: str) -> None:
    assert flaw(page) is None


ANUBIS = html(
    "Making sure you&#39;re not a bot!",
    '<h1>Loading...</h1><script id="anubis_challenge" type="application/json">{"difficulty":4}</script>',
)


def test_a_challenge_with_status_401_is_a_block_and_no_login() -> None:
    assert find_trouble(answer(ANUBIS, status=401)) == Trouble(Reason.BLOCKED, "Anubis", 401)
    elsewhere = ANUBIS.replace("Making sure you&#39;re not a bot!", "Kontrola")
    assert find_trouble(answer(elsewhere, status=401)) == Trouble(Reason.BLOCKED, "Anubis", 401)
    waf = answer("<p>wait", status=401, headers={"x-amzn-waf-action": "challenge"})
    assert find_trouble(waf) == Trouble(Reason.BLOCKED, "AWS WAF", 401)


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (ANUBIS, {"www-authenticate": 'Basic realm="Harbour"'}),
        (html("Log in", "<form><input type=password><div class=g-recaptcha></div></form>"), {}),
        (html("401", "<script>window._pxAppId='PX1'</script>"), {}),
        ("", {}),
    ],
)
def test_a_password_is_a_password(body: str, headers: dict[str, str]) -> None:
    assert find_trouble(answer(body, status=401, headers=headers)) == Trouble(Reason.LOGIN, "HTTP 401", 401)
