"""Pages that are there and yet are not the page: parked domains, login walls, empty shells, and blocks of all vendors.

All of them name keywords, which must never show up in a result.
"""

from collections.abc import Callable, Mapping
from random import Random

from gossamer.testing.web.blocked import BLOCKED, Refused, document, named
from gossamer.testing.web.forms import text
from gossamer.testing.web.page import Manner, PagePlan
from gossamer.testing.web.profile import Profile
from gossamer.testing.web.vocabulary import LABELS


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


REFUSED: Mapping[Manner, Callable[[Profile, PagePlan, Random], Refused]] = {
    **BLOCKED,
    Manner.PARKED: _parked,
    Manner.LOGIN_WALL: _login_wall,
    Manner.SHELL: _shell,
    Manner.SOFT_404: _soft_404,
    Manner.EMPTY: lambda profile, plan, throw: Refused(""),
}
