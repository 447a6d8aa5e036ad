"""Page-level quirks inside a good site: each adds its pages and links to a draft."""

from collections.abc import Callable, Mapping

from gossamer_sandbox.web.draft import Draft
from gossamer_sandbox.web.forms import ASCII_PLANTS, DECOYS, PLANTS
from gossamer_sandbox.web.links import LINK_QUIRKS
from gossamer_sandbox.web.page import Manner, PagePlan, Refusal
from gossamer_sandbox.web.traps import TRAPS

Quirk = Callable[[Draft], None]


def bad_page(manner: Manner) -> Quirk:
    """A page that yields nothing although it is full of keywords."""

    def quirk(draft: Draft) -> None:
        path = f"/more/{manner.label}"
        draft.page(path, "bare", habit="", manner=manner, plants=draft.plants())
        draft.link(draft.somewhere(), path)

    return quirk


def chain(hops: int) -> Quirk:
    """A redirect in so many hops to a page that nothing else links to."""

    def quirk(draft: Draft) -> None:
        paths = [f"/moved/{hops}/{at}" for at in range(hops)]
        end = f"/moved/{hops}/end"
        for path, following in zip(paths, [*paths[1:], end], strict=True):
            redirect(draft, path, following)
        draft.page(end, plants=draft.plants())
        draft.link(draft.somewhere(), paths[0])

    return quirk


def redirect(draft: Draft, path: str, location: str | None, status: int = 0) -> None:
    moved = status or draft.throw.choice((301, 302, 303, 307, 308))
    draft.add(PagePlan(path, "bare", Manner.REDIRECT, moved=moved, location=location))


def leading(label: str, location: str | None) -> Quirk:
    """A redirect to an address that is of no use."""

    def quirk(draft: Draft) -> None:
        path = f"/go/{label}"
        redirect(draft, path, location, 302)
        draft.link(draft.somewhere(), path)

    return quirk


def _loop(draft: Draft) -> None:
    redirect(draft, "/round/a", "/round/b")
    redirect(draft, "/round/b", "/round/a")
    draft.link(draft.somewhere(), "/round/a")


def _elsewhere(draft: Draft) -> None:
    """To a page of another listed site that nothing there links to."""
    if draft.neighbour:
        leading("elsewhere", draft.neighbour + landing_path(draft.profile.name.number))(draft)


def landing_path(number: int) -> str:
    """Return the path on another site to which a site redirects its visitors."""
    return f"/welcome/from-{number:04d}"


def _into_forbidden(draft: Draft) -> None:
    leading("inside", "/private/ledger")(draft)


def _index(draft: Draft) -> None:
    redirect(draft, "/index.html", "/", 301)
    draft.link(draft.somewhere(), "/index.html")


def _to_login(draft: Draft) -> None:
    leading("members", "/login?next=members")(draft)
    draft.add(PagePlan("/login?next=members", "bare", Manner.LOGIN_WALL, plants=draft.plants()))


def refused_once(label: str, status: int, *, waits: bool = False, dated: bool = False) -> Quirk:
    def quirk(draft: Draft) -> None:
        path = f"/patience/{label}"
        draft.page(path, plants=draft.plants(), refusal=refusal(draft, status, waits=waits, dated=dated))
        draft.link(draft.somewhere(), path)

    return quirk


def refusal(draft: Draft, status: int, *, waits: bool, dated: bool) -> Refusal:
    """Whole seconds, because that is all Retry-After can say."""
    most = int(draft.settings.retry_after_max)
    seconds = draft.throw.randint(min(1, most), most) if waits else 0
    return Refusal(status, seconds, dated)


def _slow(draft: Draft) -> None:
    draft.page("/patience/slow", manner=Manner.SLOW, plants=draft.plants())
    draft.link(draft.somewhere(), "/patience/slow")


def wrong_charset(draft: Draft) -> str:
    """A charset the site does not use. Only plain ASCII survives it."""
    if draft.profile.charset.startswith("utf-8"):
        return draft.throw.choice(("iso-8859-1", "windows-1252", "windows-1251"))
    return "utf-8"


def _wrong_charset(draft: Draft) -> None:
    path = "/letters/garbled"
    draft.page(path, habit="", plants=draft.plants(ASCII_PLANTS), decoys=(), misdeclared=wrong_charset(draft))
    draft.link(draft.somewhere(), path)


def _soft_404(draft: Draft) -> None:
    draft.soft_404 = True
    for at in range(2):
        draft.link(draft.somewhere(), f"/former/story-{at}")


# Parsers stop nesting somewhere. What is a heading, hidden or a link's text below that is a matter of taste.
_DEEP_PLANTS = tuple(plant for plant in PLANTS if plant.place in ("title", "h1", "p"))
_DEEP_DECOYS = tuple(decoy for decoy in DECOYS if decoy.form in ("script", "style"))


def _deep_nesting(draft: Draft) -> None:
    decoys = tuple(draft.throw.choices(_DEEP_DECOYS, k=3))
    draft.page("/layers", habit="linked", plants=draft.plants(_DEEP_PLANTS), decoys=decoys, nesting=2_000)
    draft.link(draft.somewhere(), "/layers")


BLOCKS = (
    Manner.CLOUDFLARE,
    Manner.CLOUDFLARE_200,
    Manner.CLOUDFLARE_1020,
    Manner.AKAMAI,
    Manner.DATADOME,
    Manner.PERIMETERX,
    Manner.IMPERVA,
    Manner.KASADA,
    Manner.AWS_WAF,
    Manner.AWS_WAF_CAPTCHA,
    Manner.SUCURI,
    Manner.VERCEL,
    Manner.ANUBIS,
    Manner.ANUBIS_401,
    Manner.STYLED,
    Manner.SHIELD,
    Manner.REFUSED,
    Manner.QUEUE,
    Manner.WIDGET,
)

_BAD = (
    Manner.UNAUTHORISED,
    Manner.FORBIDDEN,
    Manner.NOT_FOUND,
    Manner.GONE,
    Manner.BUSY_FOR_HOURS,
    Manner.BROKEN,
    Manner.DRIP,
    Manner.CUT_OFF,
    Manner.CUT_CHUNK,
    Manner.BOMB,
    Manner.HUGE,
    Manner.PDF,
    Manner.EMPTY,
    Manner.SHELL,
    Manner.LOGIN_WALL,
    Manner.NOT_THERE,
    Manner.MENDED,
    Manner.FRAMED,
    *BLOCKS,
)

LEADING: Mapping[str, str | None] = {
    "redirect-javascript": "javascript:alert(1)",
    "redirect-empty": "",
    "redirect-nowhere": None,
    "redirect-private": "http://127.0.0.1/admin",
    "redirect-metadata": "http://169.254.169.254/latest/meta-data/",
}

INNER_QUIRKS: Mapping[str, Quirk] = {
    **{manner.label: bad_page(manner) for manner in _BAD},
    **{name: leading(name.removeprefix("redirect-"), location) for name, location in LEADING.items()},
    "redirect-3": chain(3),
    "redirect-5": chain(5),
    "redirect-8": chain(8),
    "redirect-loop": _loop,
    "redirect-elsewhere": _elsewhere,
    "redirect-into-forbidden": _into_forbidden,
    "redirect-index": _index,
    "redirect-login": _to_login,
    "busy-once": refused_once("busy", 429, waits=True),
    "busy-once-dated": refused_once("busy-dated", 429, waits=True, dated=True),
    "away-once": refused_once("away", 503),
    "slow": _slow,
    "wrong-charset": _wrong_charset,
    "soft-404": _soft_404,
    "deep-nesting": _deep_nesting,
    **LINK_QUIRKS,
    **TRAPS,
}
