"""Pages that are there and yet are not the page: challenges, blocks, parked domains, login walls, empty shells.

Built from the marks by which the real ones are known, not from the real ones. All of them name keywords, which must
never show up in a result.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from gossamer.testing.web.forms import text
from gossamer.testing.web.page import Manner, PagePlan
from gossamer.testing.web.profile import Profile
from gossamer.testing.web.vocabulary import LABELS


@dataclass(frozen=True, slots=True)
class Refused:
    """A body and the headers that go with it."""

    body: str
    headers: tuple[tuple[str, str], ...] = ()


def _named(plan: PagePlan) -> str:
    return ", ".join(text(plant.phrase) for plant in plan.plants) or "CRM"


def _document(title: str, body: str, head: str = "") -> str:
    top = f'<head><meta charset="utf-8"><title>{title}</title>{head}</head>'
    return f'<!DOCTYPE html>\n<html lang="en">{top}\n<body>{body}</body></html>\n'


def _ray(throw: Random) -> str:
    return f"{throw.getrandbits(64):016x}"


def _cloudflare(profile: Profile, plan: PagePlan, throw: Random) -> Refused:
    return Refused(
        _challenge(profile, plan, throw),
        (("Server", "cloudflare"), ("CF-RAY", f"{_ray(throw)}-FRA"), ("cf-mitigated", "challenge")),
    )


def _cloudflare_200(profile: Profile, plan: PagePlan, throw: Random) -> Refused:
    """The same without the header that gives it away, and with a status that looks like success."""
    return Refused(_challenge(profile, plan, throw), (("Server", "cloudflare"), ("CF-RAY", f"{_ray(throw)}-AMS")))


def _challenge(profile: Profile, plan: PagePlan, throw: Random) -> str:
    ray = _ray(throw)
    script = (
        f'<script>window._cf_chl_opt = {{ cvId: "3", cZone: "{profile.name.primary}", cRay: "{ray}" }};'
        'var s = document.createElement("script");'
        f's.src = "/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1?ray={ray}";'
        "document.head.appendChild(s);</script>"
    )
    body = (
        f'<div class="main-wrapper"><h1>{profile.name.primary}</h1>'
        '<h2 id="challenge-running">One moment while we look at your connection</h2>'
        f'<div id="challenge-stage"></div><p>{_named(plan)}</p>'
        "<noscript>Enable JavaScript and cookies to continue</noscript></div>"
    )
    return _document("Just a moment...", body + script)


def _cloudflare_1020(profile: Profile, plan: PagePlan, throw: Random) -> Refused:
    body = (
        '<div id="cf-error-details"><h1>Access denied</h1><span class="cf-error-code">1020</span>'
        f"<h2>Sorry, you have been blocked</h2><p>You are unable to access {profile.name.primary}: {_named(plan)}</p>"
        f"<p>Ray ID: {_ray(throw)}</p></div>"
    )
    return Refused(_document("Attention Required! | Cloudflare", body), (("Server", "cloudflare"),))


def _akamai(profile: Profile, plan: PagePlan, throw: Random) -> Refused:
    reference = (
        f"18.{throw.getrandbits(32):08x}.{throw.randint(1_700_000_000, 1_800_000_000)}.{throw.getrandbits(28):07x}"
    )
    body = (
        f'<h1>Access Denied</h1><p>You have no permission to access "http&#58;&#47;&#47;{profile.name.primary}&#47;" '
        f"on this server: {_named(plan)}.</p><p>Reference&#32;&#35;{reference}</p>"
        f"<p>https&#58;&#47;&#47;errors&#46;edgesuite&#46;net&#47;{reference}</p>"
    )
    return Refused(
        f"<HTML><HEAD>\n<TITLE>Access Denied</TITLE>\n</HEAD><BODY>\n{body}\n</BODY></HTML>\n",
        (("Server", "AkamaiGHost"),),
    )


def _datadome(profile: Profile, plan: PagePlan, throw: Random) -> Refused:
    body = (
        f"<p>{_named(plan)}</p><script>var dd={{'rt':'c','cid':'{_ray(throw)}','hsh':'{throw.getrandbits(96):024X}',"
        "'t':'fe','s':17434,'host':'geo.captcha-delivery.com'}</script>"
        '<script src="https://ct.captcha-delivery.com/c.js"></script>'
    )
    headers = (("X-DD-B", "1"), ("X-DataDome", "protected"), ("Server", "DataDome"))
    return Refused(_document(profile.name.primary, body), headers)


def _perimeterx(_: Profile, plan: PagePlan, throw: Random) -> Refused:
    body = (
        "<h1>Press &amp; Hold to confirm you are a person (and not a bot)</h1>"
        f"<div id='px-captcha'></div><p>{_named(plan)}</p>"
        f"<script>window._pxAppId = 'PX{throw.getrandbits(32):08X}';</script>"
        "<script src='https://captcha.px-cdn.net/PX/captcha.js?a=c'></script>"
    )
    return Refused(_document("Access to this page has been denied", body))


def _imperva(_: Profile, plan: PagePlan, throw: Random) -> Refused:
    incident = f"{throw.getrandbits(48)}-{throw.getrandbits(48)}"
    body = (
        f'<iframe id="main-iframe" src="/_Incapsula_Resource?CWUDNSAI=9&amp;incident_id={incident}" width="100%">'
        f"Request unsuccessful. Incapsula incident ID: {incident}</iframe><p>{_named(plan)}</p>"
    )
    return Refused(
        _document("", body, '<meta name="robots" content="noindex, nofollow">'),
        (("X-Iinfo", f"9-{incident}"), ("X-CDN", "Imperva")),
    )


def _parked(profile: Profile, plan: PagePlan, _: Random) -> Refused:
    offers = "".join(f'<li><a href="/?q={at}">{text(plant.phrase)}</a></li>' for at, plant in enumerate(plan.plants))
    body = (
        f"<h1>{profile.name.primary}</h1><p>This domain is for sale. Buy this domain now, or make an offer.</p>"
        f"<h2>Related searches</h2><ul>{offers}<li>{_named(plan)}</li></ul>"
        "<p>This domain is parked free of charge. The owner of this page has no relation to the advertisers.</p>"
        '<script src="https://img.parked-pages.test/sedoparking/park.js"></script>'
    )
    return Refused(_document(f"{profile.name.primary} - domain for sale", body))


def _login_wall(_: Profile, plan: PagePlan, __: Random) -> Refused:
    body = (
        f"<h1>Log in to continue</h1><p>You must be logged in to read about {_named(plan)}.</p>"
        '<form action="/login" method="post"><label>User name <input name="user"></label>'
        '<label>Password <input type="password" name="password"></label><button type="submit">Log in</button></form>'
        "<p>Forgot your password? No account yet? Sign up.</p>"
    )
    return Refused(_document("Log in", body))


def _shell(profile: Profile, plan: PagePlan, throw: Random) -> Refused:
    head = f'<meta name="description" content="{_named(plan)}"><link rel="stylesheet" href="/static/app.css">'
    body = (
        '<noscript>You need to enable JavaScript to run this app.</noscript><div id="root"></div>'
        '<script>window.__STATE__ = {"topic": "CRM"};</script>'
        f'<script src="/static/app.{throw.getrandbits(32):08x}.js"></script>'
    )
    return Refused(_document(profile.name.primary, body, head))


def _soft_404(profile: Profile, plan: PagePlan, _: Random) -> Refused:
    missing = LABELS[profile.language].missing
    body = (
        f"<header><p>{_named(plan)}</p></header><main><h1>Page not found</h1><p>{missing}.</p>"
        "<p>Error 404: the page you are looking for does not exist or has been moved.</p></main>"
        f"<footer><p>{_named(plan)}</p></footer>"
    )
    return Refused(_document("Page not found (404)", body))


REFUSED: Mapping[Manner, Callable[[Profile, PagePlan, Random], Refused]] = {
    Manner.CLOUDFLARE: _cloudflare,
    Manner.CLOUDFLARE_200: _cloudflare_200,
    Manner.CLOUDFLARE_1020: _cloudflare_1020,
    Manner.AKAMAI: _akamai,
    Manner.DATADOME: _datadome,
    Manner.PERIMETERX: _perimeterx,
    Manner.IMPERVA: _imperva,
    Manner.PARKED: _parked,
    Manner.LOGIN_WALL: _login_wall,
    Manner.SHELL: _shell,
    Manner.SOFT_404: _soft_404,
    Manner.EMPTY: lambda profile, plan, throw: Refused(""),
}
