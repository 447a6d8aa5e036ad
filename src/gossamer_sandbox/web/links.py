"""Quirks that are about links: which ones count, how they are spelled, and which lead to the same page twice."""

from collections.abc import Callable, Mapping

from gossamer_sandbox.web.crowd import Crowd
from gossamer_sandbox.web.draft import Draft
from gossamer_sandbox.web.keywords import OUTSIDE

_JUNK = (
    "javascript:void(0)",
    "mailto:someone@mail.test",
    "tel:+49301234567",
    "data:text/html,<p>nothing</p>",
    "http://[broken",
    "http://",
    "//",
    "",
    "#",
    "ftp://files.test/list",
    "http://host:99999/port",
)


def _junk(draft: Draft) -> None:
    page = draft.somewhere()
    for href in _JUNK:
        draft.link(page, href, "text")


def _meta_refresh(draft: Draft) -> None:
    draft.page("/passing/soon", refresh="3; url=/passing/arrived")
    draft.page("/passing/arrived", plants=draft.plants())
    draft.link(draft.somewhere(), "/passing/soon")


def _late_refresh(draft: Draft) -> None:
    draft.page("/passing/late", refresh="600;URL='/passing/tomorrow'")
    draft.page("/passing/tomorrow", plants=draft.plants())
    draft.link(draft.somewhere(), "/passing/late")


def _base_href(draft: Draft) -> None:
    draft.page("/based/page", base="/other/place/")
    draft.link(draft.somewhere(), "/based/page")
    for name in ("one", "two?x=1"):
        draft.page(f"/other/place/{name}", plants=draft.plants())
        draft.link("/based/page", name)


def _nofollow_links(draft: Draft) -> None:
    source = draft.somewhere()
    for at, rel in enumerate(("nofollow", "noopener NOFOLLOW", "ugc nofollow", "UGC", "sponsored")):
        draft.page(f"/unvouched/{at}", plants=draft.plants())
        draft.link(source, f"/unvouched/{at}", "text", rel)


def _sealed(name: str, *, meta: str = "", header: str = "") -> Callable[[Draft], None]:
    """A page that speaks for all its links at once; one page hangs on it alone."""

    def quirk(draft: Draft) -> None:
        path = f"/sealed/{name}"
        draft.page(path, habit="linked", plants=draft.plants(), meta_robots=meta, x_robots=header)
        draft.page(f"{path}/inside", plants=draft.plants())
        draft.link(draft.somewhere(), path)
        draft.link(path, f"{path}/inside")

    return quirk


def _binaries(draft: Draft) -> None:
    source = draft.somewhere()
    for name in ("report.pdf", "archive.zip", "photo.jpg", "BROCHURE.PDF"):
        draft.link(source, f"/files/{name}", "text")


def _tracking(draft: Draft) -> None:
    draft.page("/campaign/landing", plants=draft.plants())
    for parameters in ("utm_source=letter&utm_medium=mail", "gclid=Cj0KCQ", "fbclid=IwAR0x&utm_campaign=spring"):
        draft.link(draft.somewhere(), f"/campaign/landing?{parameters}")
        draft.link(draft.somewhere(), f"/?{parameters}", "text")


def _ref_variants(draft: Draft) -> None:
    """Any `?ref=` gives the same page, which names its bare address as canonical; the second is linked only so."""
    for path in ("/offer/plain", "/offer/shy"):
        draft.page(path, plants=draft.plants(), canonical=path)
        for source in ("nav", "mail"):
            draft.link(draft.somewhere(), f"{path}?ref={source}")
    draft.link(draft.somewhere(), "/offer/plain")


def _canonical_home(draft: Draft) -> None:
    """A common mistake: every page claims to be the homepage."""
    for at in range(2):
        draft.page(f"/mistaken/{at}", plants=draft.plants(), canonical="/")
        draft.link(draft.somewhere(), f"/mistaken/{at}")


def _canonical_elsewhere(draft: Draft) -> None:
    draft.page("/borrowed/story", plants=draft.plants(), canonical=f"http://{OUTSIDE[3]}/story")
    draft.link(draft.somewhere(), "/borrowed/story")


def _spellings(draft: Draft) -> None:
    host = draft.profile.name.primary
    for name, origin in (("loud", f"HTTP://{host.upper()}"), ("bare", f"//{host}"), ("port", f"http://{host}:80")):
        draft.page(f"/spelled/{name}", plants=draft.plants())
        draft.link(draft.somewhere(), f"{origin}/spelled/{name}")
    draft.page("/spelled/dots", plants=draft.plants())
    draft.link(draft.somewhere(), "/a/./b/../../spelled/%64ots")


def _many_links(draft: Draft) -> None:
    """5,000 links: most are the same pages over and over or lead out; sixty pages are only here."""
    draft.page("/links")
    draft.link(draft.somewhere(), "/links")
    for at in range(60):
        draft.page(f"/links/leaf-{at:02d}", "leaf", habit="", plants=(), decoys=(), paragraphs=7)
        draft.link("/links", f"/links/leaf-{at:02d}")
    known = draft.ordinary
    for at in range(2_500):
        draft.link("/links", f"{known[at % len(known)]}#line-{at}")
    for at in range(2_440):
        draft.link("/links", f"http://{OUTSIDE[1 + at % (len(OUTSIDE) - 1)]}/{at}")


def _large_hub(draft: Draft) -> None:
    """A directory of hundreds of links, more than is read, so that the most linked ones must be chosen."""
    draft.crowd = Crowd("/directory/", 700)
    draft.page("/directory/")
    draft.link("/", "/directory/")
    for path in draft.crowd.paths():
        draft.link("/directory/", path)


LINK_QUIRKS: Mapping[str, Callable[[Draft], None]] = {
    "junk-links": _junk,
    "meta-refresh": _meta_refresh,
    "late-refresh": _late_refresh,
    "base-href": _base_href,
    "nofollow-links": _nofollow_links,
    "meta-nofollow": _sealed("meta", meta="index, nofollow"),
    "meta-none": _sealed("none", meta="None"),
    "header-nofollow": _sealed("header", header="nofollow"),
    "header-nofollow-own": _sealed("own", header="Gossamer: nofollow"),
    "header-nofollow-other": _sealed("other", header="otherbot: nofollow"),
    "binaries": _binaries,
    "tracking": _tracking,
    "ref-variants": _ref_variants,
    "canonical-home": _canonical_home,
    "canonical-elsewhere": _canonical_elsewhere,
    "spellings": _spellings,
    "many-links": _many_links,
    "large-hub": _large_hub,
}
