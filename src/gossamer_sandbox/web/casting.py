"""Map a site's number to its kind; cheap for fifty thousand sites, since no page is generated yet."""

from collections.abc import Iterable
from functools import lru_cache

from gossamer_sandbox.web.dice import dice, number
from gossamer_sandbox.web.homes import HOME_QUIRKS
from gossamer_sandbox.web.names import name_of
from gossamer_sandbox.web.profile import Profile, Settings
from gossamer_sandbox.web.quirks import INNER_QUIRKS
from gossamer_sandbox.web.robots import ROBOTS, USUAL
from gossamer_sandbox.web.sitemaps import HUGE, NAMED_ONLY, SHAPES

KINDS = ("blog", "shop", "magazine", "directory", "company", "docs")

_LANGUAGES = ("en", "en", "en", "en", "de", "de", "fr", "es", "pl", "ru", "ja")
_CHARSETS = {
    "pl": ("utf-8", "utf-8", "utf-8-sig"),
    "ru": ("utf-8", "windows-1251"),
    "ja": ("utf-8", "shift_jis"),
}
_WESTERN = ("utf-8", "utf-8", "iso-8859-1", "windows-1252", "utf-8-sig")
_QUIRKS_PER_SITE = 3
_BLOCK = 20


def _in_turn(names: Iterable[str]) -> tuple[str, ...]:
    """Every seventh, seven times: neighbours in the tables are alike and would otherwise meet on one site."""
    listed = list(names)
    return tuple(name for start in range(7) for name in listed[start::7])


_SITEMAP_FOR = {"large-sitemap": "plain", "huge-sitemap": HUGE}
_HOMES = _in_turn(HOME_QUIRKS)
_INNER = _in_turn(INNER_QUIRKS)


def profile_of(settings: Settings, site: int) -> Profile:
    throw = dice(settings.seed, "site", site)
    language = throw.choice(_LANGUAGES)
    home, inner = _quirks_of(settings, site)
    robots = _robots_for(home, inner) or throw.choice(USUAL)
    readable = ROBOTS[robots].readable
    shape = throw.choice(SHAPES)
    if shape in NAMED_ONLY and not readable:
        shape = "plain"
    shape = _SITEMAP_FOR.get(home, shape)
    named = throw.random() < 0.5 or shape in NAMED_ONLY
    return Profile(
        name=name_of(site),
        kind=throw.choice(KINDS),
        language=language,
        charset=throw.choice(_CHARSETS.get(language, _WESTERN)),
        declared=throw.choice(("header", "meta", "both")),
        robots=robots,
        sitemap=shape,
        sitemap_named=readable and named and shape != "none",
        size=throw.randint(settings.size_min, settings.size_max),
        home_quirk=home,
        inner_quirks=inner,
    )


def _quirks_of(settings: Settings, site: int) -> tuple[str, tuple[str, ...]]:
    """Nasty sites are spread evenly and take the quirks in turn, so that a small web already shows most of them."""
    slot = _slot(settings.seed, site)
    ordinal = int(slot * settings.nasty)
    if int((slot + 1) * settings.nasty) == ordinal:
        return "", ()
    turn = number(settings.seed, "turn") % 1000 + ordinal // 2
    if ordinal % 2 == 0:
        return _HOMES[turn % len(_HOMES)], ()
    first = turn * _QUIRKS_PER_SITE
    return "", tuple(_INNER[(first + at) % len(_INNER)] for at in range(_QUIRKS_PER_SITE))


def _slot(seed: int, site: int) -> int:
    """The site's place in a row that is shuffled block by block: names go by number too, and nastiness must not."""
    block, inside = divmod(site - 1, _BLOCK)
    return block * _BLOCK + _shuffled(seed, block)[inside]


@lru_cache(maxsize=1024)
def _shuffled(seed: int, block: int) -> tuple[int, ...]:
    return tuple(dice(seed, "block", block).sample(range(_BLOCK), _BLOCK))


def _robots_for(home: str, inner: tuple[str, ...]) -> str:
    """Some quirks are about robots.txt, or need one that forbids something."""
    if home.startswith("robots-"):
        return home.removeprefix("robots-")
    return "folder" if home in _SITEMAP_FOR or "redirect-into-forbidden" in inner else ""
