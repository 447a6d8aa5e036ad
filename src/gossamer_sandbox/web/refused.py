"""Pages that are there and yet are not the page: parked domains, login walls, empty shells, and blocks of all vendors.

All of them name keywords, which must never show up in a result.
"""

from collections.abc import Callable, Mapping
from random import Random

from gossamer_sandbox.web.blocked import BLOCKED, Refused, document, named
from gossamer_sandbox.web.forms import text
from gossamer_sandbox.web.page import Manner, PagePlan
from gossamer_sandbox.web.profile import Profile
from gossamer_sandbox.web.vocabulary import LABELS


def _parked(profile: Profile, plan: PagePlan, _: Random) -> Refused:
    offers = "".join(f'<li><a href="/?q={at}">{text(plant.phrase)}</a></li>' for at, plant in enumerate(plan.plants))
    body = (
        f"<h1>{profile.name.primary}</h1><p>This domain is for sale. Buy this domain now, or make an offer.</p>"
        f"<h2>Related searches</h2><ul>{offers}<li>{named(plan)}</li></ul>"
        "<p>This domain is parked free of charge. The owner of this page has no relation to the advertisers.</p>"
        '<script src="https://img.parked-pages.test/sedoparking/park.js"></script>'
    )
    return Refused(document(f"{profile.name.primary} - domain for sale", body))


def _login_wall(_: Profile, plan: PagePlan, __: Random) -> Refused:
    body = (
        f"<h1>Log in to continue</h1><p>You must be logged in to read about {named(plan)}.</p>"
        '<form action="/login" method="post"><label>User name <input name="user"></label>'
        '<label>Password <input type="password" name="password"></label><button type="submit">Log in</button></form>'
        "<p>Forgot your password? No account yet? Sign up.</p>"
    )
    return Refused(document("Log in", body))


def _shell(profile: Profile, plan: PagePlan, throw: Random) -> Refused:
    head = f'<meta name="description" content="{named(plan)}"><link rel="stylesheet" href="/static/app.css">'
    body = (
        '<noscript>You need to enable JavaScript to run this app.</noscript><div id="root"></div>'
        '<script>window.__STATE__ = {"topic": "CRM"};</script>'
        f'<script src="/static/app.{throw.getrandbits(32):08x}.js"></script>'
    )
    return Refused(document(profile.name.primary, body, head))


def _soft_404(profile: Profile, plan: PagePlan, _: Random) -> Refused:
    missing = LABELS[profile.language].missing
    body = (
        f"<header><p>{named(plan)}</p></header><main><h1>Page not found</h1><p>{missing}.</p>"
        "<p>Error 404: the page you are looking for does not exist or has been moved.</p></main>"
        f"<footer><p>{named(plan)}</p></footer>"
    )
    return Refused(document("Page not found (404)", body))


# Said in the language of the site, where a page that is not there is called nothing else.
_NOT_THERE = (
    "It seems that the page you were trying to reach doesn't exist", "Sorry, there is no page at this URL",
    "Seite nicht vorhanden", "La página que buscas no existe", "Strona, której szukasz, nie istnieje",
    "Страница, которую вы ищете, не существует", "お探しのページは見つかりませんでした。", "您访问的页面不存在",
    "ไม่พบหน้าที่คุณต้องการ",
)  # fmt: skip


def _not_there(_: Profile, plan: PagePlan, throw: Random) -> Refused:
    """A page of many links whose title or one sentence says so."""
    menu = "".join(f'<li><a href="#{at}">{text(plant.phrase)}</a></li>' for at, plant in enumerate(plan.plants * 40))
    said = throw.choice(_NOT_THERE)
    if throw.random() < 0.5:
        return Refused(document(throw.choice(("Harbour | Not Found", "Page Not Found")), f"<ul>{menu}</ul><h1>Oh</h1>"))
    return Refused(document("Harbour", f"<nav><a href='/'>{named(plan)}</a></nav><p>{said}</p>"))


def _mended(_: Profile, plan: PagePlan, throw: Random) -> Refused:
    title = throw.choice(("Harbour - Down for Maintenance", "Temporary service interruption"))
    return Refused(document(title, f"<p>Read about {named(plan)} tomorrow.</p>"))


def _framed(_: Profile, plan: PagePlan, __: Random) -> Refused:
    return Refused(document("Harbour", f'<iframe src="/embedded/frame" width="100%">{named(plan)}</iframe>'))


REFUSED: Mapping[Manner, Callable[[Profile, PagePlan, Random], Refused]] = {
    **BLOCKED,
    Manner.PARKED: _parked,
    Manner.LOGIN_WALL: _login_wall,
    Manner.SHELL: _shell,
    Manner.SOFT_404: _soft_404,
    Manner.NOT_THERE: _not_there,
    Manner.MENDED: _mended,
    Manner.FRAMED: _framed,
    Manner.EMPTY: lambda profile, plan, throw: Refused(""),
}
