"""What an answer's status means, and who sent an error page."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from gossamer.judge import find_trouble
from gossamer.judge.status import seconds_asked
from gossamer.model.trouble import Reason, Trouble
from tests.parse.answers import AT, answer


@pytest.mark.parametrize(
    ("status", "trouble"),
    [
        (401, Trouble(Reason.LOGIN, "HTTP 401", 401)),
        (403, Trouble(Reason.FORBIDDEN, http_status=403)),
        (404, Trouble(Reason.NOT_FOUND, http_status=404)),
        (410, Trouble(Reason.GONE, http_status=410)),
        (429, Trouble(Reason.RATE_LIMITED, http_status=429)),
        (503, Trouble(Reason.UNAVAILABLE, http_status=503)),
        (500, Trouble(Reason.SERVER_ERROR, "500", 500)),
        (502, Trouble(Reason.SERVER_ERROR, "502", 502)),
        (522, Trouble(Reason.SERVER_ERROR, "522", 522)),
        (400, Trouble(Reason.CLIENT_ERROR, "400", 400)),
        (418, Trouble(Reason.CLIENT_ERROR, "418", 418)),
        (451, Trouble(Reason.CLIENT_ERROR, "451", 451)),
        (304, Trouble(Reason.BAD_REDIRECT, http_status=304)),
        (999, Trouble(Reason.BLOCKED, "LinkedIn", 999)),
    ],
)
def test_every_error_status_has_its_reason(status: int, trouble: Trouble) -> None:
    assert find_trouble(answer("<h1>Error</h1>", status=status)) == trouble


@pytest.mark.parametrize("status", [200, 201, 203, 206])
def test_a_good_status_is_no_trouble(status: int) -> None:
    assert find_trouble(answer("<h1>Hello</h1>", status=status)) is None


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_travels_with_the_trouble(status: int) -> None:
    trouble = find_trouble(answer(status=status, headers={"retry-after": "120"}))
    assert trouble is not None
    assert trouble.retry_after == 120


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("2.5", 2.0),
        ("60, 60", 60.0),
        (format_datetime(AT + timedelta(hours=2), usegmt=False), pytest.approx(7200, abs=1)),
        ("Wed, 04 Mar 2026 05:07:07 GMT", pytest.approx(60, abs=1)),
        ("Wed, 04 Mar 2020 05:07:07 GMT", 0.0),
        ("Wed, 04 Mar 2026 05:07:07 -0000", pytest.approx(60, abs=1)),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("Wed, 99 Foo 2026", None),
        ("9" * 500, pytest.approx(10 * 365 * 86_400)),
        ("0" * 500 + "7", 7.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", pytest.approx(10 * 365 * 86_400)),
    ],
)
def test_retry_after_is_seconds_or_a_date(header: str, seconds: float | None) -> None:
    assert seconds_asked(header, AT) == seconds


def test_a_date_is_compared_with_the_servers_own_clock() -> None:
    ours = datetime(2026, 3, 4, 4, 0, tzinfo=UTC)  # an hour slow
    asked, said = "Wed, 04 Mar 2026 05:00:02 GMT", "Wed, 04 Mar 2026 05:00:00 GMT"
    assert seconds_asked(asked, ours, said) == 2
    assert seconds_asked(asked, ours, "yesterday or so") == 3602
    assert seconds_asked("120", ours, said) == 120


@pytest.mark.parametrize(
    ("status", "headers", "vendor", "reason"),
    [
        (403, {"cf-mitigated": "challenge"}, "Cloudflare", Reason.BLOCKED),
        (429, {"cf-mitigated": "challenge", "retry-after": "60"}, "Cloudflare", Reason.BLOCKED),
        (200, {"cf-mitigated": "challenge"}, "Cloudflare", Reason.BLOCKED),
        (202, {"x-amzn-waf-action": "challenge"}, "AWS WAF", Reason.BLOCKED),
        (405, {"x-amzn-waf-action": "captcha"}, "AWS WAF", Reason.CAPTCHA),
        (429, {"x-vercel-mitigated": "challenge"}, "Vercel", Reason.BLOCKED),
        (403, {"x-dd-b": "1"}, "DataDome", Reason.BLOCKED),
        (403, {"x-sucuri-block": "x"}, "Sucuri", Reason.BLOCKED),
        (429, {"x-kpsdk-ct": "x"}, "Kasada", Reason.BLOCKED),
        (403, {"x-a1b2c3d4-a": "x"}, "F5 Shape", Reason.BLOCKED),
        (403, {"server": "AkamaiGHost"}, "Akamai", Reason.BLOCKED),
    ],
)
def test_headers_name_the_protection(status: int, headers: dict[str, str], vendor: str, reason: Reason) -> None:
    asked = 60.0 if "retry-after" in headers else None
    assert find_trouble(answer("<p>x", status=status, headers=headers)) == Trouble(reason, vendor, status, asked)


@pytest.mark.parametrize(
    "headers",
    [
        {"server": "cloudflare", "cf-ray": "8f0-FRA", "cf-cache-status": "DYNAMIC"},
        {"x-datadome": "protected", "set-cookie": "datadome=x; _abck=y~-1~z; cf_clearance=w"},
        {"x-kpsdk-ct": "x"},
        {"x-iinfo": "9-1", "x-cdn": "Imperva"},
        {"server": "AkamaiGHost"},
        {"x-sucuri-id": "1", "x-sucuri-cache": "HIT"},
        {"x-azure-ref": "x"},
        {"cf-mitigated": ""},
    ],
)
def test_the_mere_presence_of_a_protection_is_no_block(headers: dict[str, str]) -> None:
    assert find_trouble(answer("<p>welcome", headers=headers)) is None


@pytest.mark.parametrize(
    ("status", "body", "vendor"),
    [
        (403, "<title>Just a moment...</title><script>window._cf_chl_opt={}</script>", "Cloudflare"),
        (503, '<title>Just a moment...</title><div id="cf-please-wait">', "Cloudflare"),
        (403, "<title>Attention Required! | Cloudflare</title>", "Cloudflare"),
        (403, '<div id="cf-error-details"><span class="cf-error-code">1020</span></div>', "Cloudflare"),
        (403, "<TITLE>Access Denied</TITLE>Reference&#32;&#35;18&#46;2d6c3217&#46;1718&#46;1f0a", "Akamai"),
        (403, "<title>Access Denied</title>Reference #18.2d6c3217.1718000000.1f0a", "Akamai"),
        (403, "https&#58;&#47;&#47;errors&#46;edgesuite&#46;net&#47;18.2", "Akamai"),
        (428, '{"sec-cp-challenge":"true","provider":"crypto"}', "Akamai"),
        (403, '{"url":"https://geo.captcha-delivery.com/captcha/?x"}', "DataDome"),
        (403, "<p id=cmsg>Please enable JS and disable any ad blocker</p>", "DataDome"),
        (403, '{"appId":"PX1","jsClientSrc":"/x.js","blockScript":"/y.js"}', "HUMAN"),
        (429, "<script>window.KPSDK={};KPSDK.scriptStart=KPSDK.now()</script>", "Kasada"),
        (403, "Request unsuccessful. Incapsula incident ID: 1-2", "Imperva"),
        (403, "<title>ERROR</title>ERROR: The request could not be satisfied", "CloudFront"),
        (403, "<link href=https://cdn.sucuri.net/sucuri-firewall-block.css>", "Sucuri"),
        (503, "<p>Generated by Wordfence at Tue", "Wordfence"),
    ],
)
def test_error_pages_name_the_protection(status: int, body: str, vendor: str) -> None:
    assert find_trouble(answer(body, status=status)) == Trouble(Reason.BLOCKED, vendor, status)


@pytest.mark.parametrize("status", [404, 410])
def test_a_missing_page_is_never_a_block(status: int) -> None:
    trouble = find_trouble(answer("<script>_cf_chl_opt</script>", status=status, headers={"cf-mitigated": "challenge"}))
    assert trouble is not None
    assert trouble.reason in (Reason.NOT_FOUND, Reason.GONE)


def test_cloudflare_rate_limit_is_waited_out() -> None:
    body = '<div id="cf-error-details"><span class="cf-error-code">1015</span></div>'
    trouble = find_trouble(answer(body, status=429, headers={"retry-after": "30"}))
    assert trouble == Trouble(Reason.RATE_LIMITED, http_status=429, retry_after=30)


def test_an_origin_that_is_down_behind_cloudflare_is_a_server_error() -> None:
    body = '<div id="cf-error-details"><span class="cf-error-code">522</span></div>'
    assert find_trouble(answer(body, status=522)) == Trouble(Reason.SERVER_ERROR, "522", 522)


def test_azure_needs_its_header() -> None:
    body = "<h2>The request is blocked.</h2>"
    assert find_trouble(answer(body, status=403)) == Trouble(Reason.FORBIDDEN, http_status=403)
    azure = find_trouble(answer(body, status=403, headers={"x-azure-ref": "x"}))
    assert azure == Trouble(Reason.BLOCKED, "Azure", 403)


def test_a_small_refusal_with_a_widget_asks_for_a_captcha() -> None:
    body = '<div class="g-recaptcha" data-sitekey="6L"></div>'
    assert find_trouble(answer(body, status=403)) == Trouble(Reason.CAPTCHA, "reCAPTCHA", 403)
    large = find_trouble(answer(body + "<p>" * 5_000, status=403))
    assert large == Trouble(Reason.FORBIDDEN, http_status=403)
    assert find_trouble(answer(body, status=503)) == Trouble(Reason.UNAVAILABLE, http_status=503)


def test_a_redirect_to_a_captcha_is_known_by_its_address() -> None:
    response = answer(
        "x", status=429, url="https://www.google.example/sorry/index?q=1", requested="https://www.google.example/s"
    )
    assert find_trouble(response) == Trouble(Reason.CAPTCHA, "Google", 429)
