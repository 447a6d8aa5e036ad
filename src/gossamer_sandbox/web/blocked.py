"""Pages of bot protections: challenges, refusals, captchas.

Built from the marks by which the real ones are known, not from the real ones. All of them name keywords, which must
never show up in a result.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from gossamer_sandbox.web.forms import text
from gossamer_sandbox.web.page import Manner, PagePlan
from gossamer_sandbox.web.profile import Profile


@dataclass(frozen=True, slots=True)
class Refused:
    """A body and the headers that go with it."""

    body: str
    headers: tuple[tuple[str, str], ...] = ()


def named(plan: PagePlan) -> str:
    """The keywords of a page that is not shown."""
    return ", ".join(text(plant.phrase) for plant in plan.plants) or "CRM"


def document(title: str, body: str, head: str = "") -> str:
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
        f'<div id="challenge-stage"></div><p>{named(plan)}</p>'
        "<noscript>Enable JavaScript and cookies to continue</noscript></div>"
    )
    return document("Just a moment...", body + script)


def _cloudflare_1020(profile: Profile, plan: PagePlan, throw: Random) -> Refused:
    body = (
        '<div id="cf-error-details"><h1>Access denied</h1><span class="cf-error-code">1020</span>'
        f"<h2>Sorry, you have been blocked</h2><p>You are unable to access {profile.name.primary}: {named(plan)}</p>"
        f"<p>Ray ID: {_ray(throw)}</p></div>"
    )
    return Refused(document("Attention Required! | Cloudflare", body), (("Server", "cloudflare"),))


def _akamai(profile: Profile, plan: PagePlan, throw: Random) -> Refused:
    reference = (
        f"18.{throw.getrandbits(32):08x}.{throw.randint(1_700_000_000, 1_800_000_000)}.{throw.getrandbits(28):07x}"
    )
    body = (
        f'<h1>Access Denied</h1><p>You have no permission to access "http&#58;&#47;&#47;{profile.name.primary}&#47;" '
        f"on this server: {named(plan)}.</p><p>Reference&#32;&#35;{reference}</p>"
        f"<p>https&#58;&#47;&#47;errors&#46;edgesuite&#46;net&#47;{reference}</p>"
    )
    return Refused(
        f"<HTML><HEAD>\n<TITLE>Access Denied</TITLE>\n</HEAD><BODY>\n{body}\n</BODY></HTML>\n",
        (("Server", "AkamaiGHost"),),
    )


def _datadome(profile: Profile, plan: PagePlan, throw: Random) -> Refused:
    body = (
        f"<p>{named(plan)}</p><script>var dd={{'rt':'c','cid':'{_ray(throw)}','hsh':'{throw.getrandbits(96):024X}',"
        "'t':'fe','s':17434,'host':'geo.captcha-delivery.com'}</script>"
        '<script src="https://ct.captcha-delivery.com/c.js"></script>'
    )
    headers = (("X-DD-B", "1"), ("X-DataDome", "protected"), ("Server", "DataDome"))
    return Refused(document(profile.name.primary, body), headers)


def _perimeterx(_: Profile, plan: PagePlan, throw: Random) -> Refused:
    body = (
        "<h1>Press &amp; Hold to confirm you are a person (and not a bot)</h1>"
        f"<div id='px-captcha'></div><p>{named(plan)}</p>"
        f"<script>window._pxAppId = 'PX{throw.getrandbits(32):08X}';</script>"
        "<script src='https://captcha.px-cdn.net/PX/captcha.js?a=c'></script>"
    )
    return Refused(document("Access to this page has been denied", body))


def _imperva(_: Profile, plan: PagePlan, throw: Random) -> Refused:
    incident = f"{throw.getrandbits(48)}-{throw.getrandbits(48)}"
    body = (
        f'<iframe id="main-iframe" src="/_Incapsula_Resource?CWUDNSAI=9&amp;incident_id={incident}" width="100%">'
        f"Request unsuccessful. Incapsula incident ID: {incident}</iframe><p>{named(plan)}</p>"
    )
    return Refused(
        document("", body, '<meta name="robots" content="noindex, nofollow">'),
        (("X-Iinfo", f"9-{incident}"), ("X-CDN", "Imperva")),
    )


def _kasada(profile: Profile, plan: PagePlan, throw: Random) -> Refused:
    body = (
        f"<p>{named(plan)}</p><script>window.KPSDK={{}};KPSDK.now=function(){{return Date.now()}};"
        "KPSDK.scriptStart=KPSDK.now();</script>"
        "<script src='/149e9513-01fa-4fb0-aad4-566afd725d1b/2d206a39-8ed7-437e-a3be-862e0f06eea3/ips.js"
        f"?tkrm={_ray(throw)}'></script>"
    )
    token = f"{throw.getrandbits(128):032x}"
    return Refused(document(profile.name.primary, body), (("x-kpsdk-ct", token), ("x-kpsdk-r", "1-AA")))


def _aws_waf(profile: Profile, plan: PagePlan, throw: Random) -> Refused:
    return Refused(_goku(profile, plan, throw, "challenge"), (("x-amzn-waf-action", "challenge"),))


def _aws_waf_captcha(profile: Profile, plan: PagePlan, throw: Random) -> Refused:
    return Refused(_goku(profile, plan, throw, "captcha"), (("x-amzn-waf-action", "captcha"),))


def _goku(profile: Profile, plan: PagePlan, throw: Random, script: str) -> str:
    host = f"{throw.getrandbits(48):012x}.edge.sdk.awswaf.com"
    body = (
        f'<div id="challenge-container"></div><p>{named(plan)}</p>'
        f'<script>window.awsWafCookieDomainList = []; window.gokuProps = {{"key":"{_ray(throw)}"}};</script>'
        f'<script src="https://{host}/{_ray(throw)}/{script}.js"></script>'
        "<noscript><h1>JavaScript is disabled</h1>To continue, verify that you are not a robot.</noscript>"
    )
    return document(profile.name.primary, body)


def _sucuri(profile: Profile, plan: PagePlan, throw: Random) -> Refused:
    head = '<link rel="stylesheet" href="https://cdn.sucuri.net/sucuri-firewall-block.css">'
    body = (
        f"<h1>Access Denied - Sucuri Website Firewall</h1><p>{profile.name.primary}: {named(plan)}</p>"
        f"<table><tr><td>Block ID:</td><td>EVA{throw.randint(10, 99)}</td></tr></table>"
        "<p>Write to cloudproxy@sucuri.net if you believe this is a mistake.</p>"
    )
    title = "Sucuri WebSite Firewall - Access Denied"
    return Refused(document(title, body, head), (("Server", "Sucuri/Cloudproxy"), ("x-sucuri-block", "EVA")))


def _vercel(_: Profile, plan: PagePlan, throw: Random) -> Refused:
    body = f"<p>We are looking at your browser</p><p>{named(plan)}</p><script>var t = '{_ray(throw)}';</script>"
    headers = (("Server", "Vercel"), ("x-vercel-mitigated", "challenge"), ("x-vercel-id", f"fra1::{_ray(throw)}"))
    return Refused(document("Vercel Security Checkpoint", body), headers)


def _anubis(_: Profile, plan: PagePlan, throw: Random) -> Refused:
    """Answers as if all were well, and nothing but the page itself says otherwise."""
    body = (
        '<h1 id="title">Making sure you&#39;re not a bot!</h1><p id="status">Loading...</p>'
        f"<p>{named(plan)}</p>"
        f'<script id="anubis_challenge" type="application/json">{{"challenge":"{_ray(throw)}"}}</script>'
        '<script async type="module" src="/.within.website/x/cmd/anubis/static/js/main.mjs"></script>'
    )
    return Refused(document("Making sure you&#39;re not a bot!", body))


def _styled(profile: Profile, plan: PagePlan, throw: Random) -> Refused:
    """A page of few words of the site's own making, with more styles than anything else."""
    rules = "".join(f".frame--{throw.getrandbits(32):08x}{{margin:0 auto;padding:{at}px}}" for at in range(500))
    body = (
        f"<style>{rules}</style><h1>Prove your humanity</h1><p>Complete the challenge below, {named(plan)}.</p>"
        '<form><div id="widget"></div></form>'
    )
    return Refused(document(f"{profile.name.primary} - Prove your humanity", body))


def _shield(_: Profile, plan: PagePlan, __: Random) -> Refused:
    body = (
        f"<p>Something about how you read {named(plan)} made us think that you are a bot.</p>"
        "<p>Please solve this to go on.</p>"
    )
    return Refused(document("ShieldSquare Captcha", body))


def _refused(_: Profile, plan: PagePlan, throw: Random) -> Refused:
    title = throw.choice(("Error", "Error Blocked", "Request blocked", ""))
    return Refused(document(title, f"<h2>Your request has been blocked.</h2><p>{named(plan)}</p><p>{_ray(throw)}</p>"))


def _queue(profile: Profile, plan: PagePlan, throw: Random) -> Refused:
    body = (
        f"<h1>You are now in line for {profile.name.primary}</h1><p>Your estimated wait time is {throw.randint(2, 90)} "
        f"minutes. This page reloads when it is your turn to read about {named(plan)}.</p>"
    )
    return Refused(document("Waiting Room", body))


def _widget(profile: Profile, plan: PagePlan, throw: Random) -> Refused:
    """A form that asks for nothing but proof of being human, on a page of the site's own making."""
    body = (
        f"<h1>{profile.name.primary}</h1><p>Please show that you are human to read about {named(plan)}.</p>"
        f'<form method="post"><div class="g-recaptcha" data-sitekey="6L{_ray(throw)}"></div></form>'
        '<script src="https://www.google.com/recaptcha/api.js"></script>'
    )
    return Refused(document(profile.name.primary, body))


BLOCKED: Mapping[Manner, Callable[[Profile, PagePlan, Random], Refused]] = {
    Manner.CLOUDFLARE: _cloudflare,
    Manner.CLOUDFLARE_200: _cloudflare_200,
    Manner.CLOUDFLARE_1020: _cloudflare_1020,
    Manner.AKAMAI: _akamai,
    Manner.DATADOME: _datadome,
    Manner.PERIMETERX: _perimeterx,
    Manner.IMPERVA: _imperva,
    Manner.KASADA: _kasada,
    Manner.AWS_WAF: _aws_waf,
    Manner.AWS_WAF_CAPTCHA: _aws_waf_captcha,
    Manner.SUCURI: _sucuri,
    Manner.VERCEL: _vercel,
    Manner.ANUBIS: _anubis,
    Manner.ANUBIS_401: _anubis,
    Manner.STYLED: _styled,
    Manner.SHIELD: _shield,
    Manner.REFUSED: _refused,
    Manner.QUEUE: _queue,
    Manner.WIDGET: _widget,
}
