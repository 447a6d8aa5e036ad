"""The verdicts and flags of a match, in words for clients instead of codes for programs."""

from gossamer.errors import UserError
from gossamer.model.ids import short
from gossamer.model.job import Job

# By how much each asks to be acted upon: the words for it, and what it means.
VERDICTS = {
    "unlinked": (
        "No link yet",
        "the page mentions the keyword without a link for it: the best pages to contact",
    ),
    "links-elsewhere": (
        "Links to others",
        "the page links to a competitor, or the keyword itself links to another site",
    ),
    "nofollow": (
        "Linked, but nofollow",
        "the page links to the client, and asks search engines not to follow the link",
    ),
    "linked": ("Linked", "the page links to the client already"),
    "own-site": ("Client's own site", "the page is the client's own: not to be contacted"),
}

WORDS = tuple((verdict, words) for verdict, (words, _) in VERDICTS.items())

# How much a verdict asks to be acted upon, at a glance.
COLOURS = (
    ("unlinked", "#D6EFD8"),
    ("nofollow", "#FFF1CC"),
    ("links-elsewhere", "#FFF1CC"),
    ("linked", "#E3E8EC"),
)

UNLINKED = "unlinked"

MANY_ON_ONE_PAGE = 200

NAVIGATION_ONLY = "navigation-only"
ON_ONE_PAGE = f"{MANY_ON_ONE_PAGE}+ on one page"
ON_EVERY_PAGE = "nearly every page"

FLAG_WORDS = ((NAVIGATION_ONLY, "only in menus"),)


def verdict_words(verdict: str) -> str:
    """Return `unlinked` as "No link yet" and so on; an unknown verdict is returned unchanged."""
    return VERDICTS[verdict][0] if verdict in VERDICTS else verdict


def no_client(job: Job) -> UserError:
    """Return the error for a query about links in a job without a client."""
    return UserError(
        "results.no_client",
        f"Job {short(job.id)} was run without a client's domain, so it does not know who links to it.",
        hint="Run it again with --client-domain.",
    )
