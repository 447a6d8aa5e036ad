"""Why an address of a site is none of its pages, as far as what the walk left behind can tell."""

from collections.abc import Iterator
from typing import NamedTuple

from gossamer.frontier.candidates import MOST_OF_A_CALENDAR, Scope, calendar_shape, is_endless
from gossamer.frontier.notes import Candidate, Notes
from gossamer.model.endings import is_binary
from gossamer.model.job import CrawlPolicy
from gossamer.model.states import SiteState
from gossamer.model.url import path_of


class Absence(NamedTuple):
    """One thing that kept an address from being a page: a name for scripts, a sentence for people."""

    name: str
    sentence: str


class Walked(NamedTuple):
    """How far a site was walked."""

    state: SiteState
    reason: str  # why it ended so, as a sentence
    whole: bool  # False: only pages that redirects led to
    notes: Notes


def why_absent(url: str, walked: Walked, policy: CrawlPolicy) -> list[Absence]:
    """What speaks against the address, the most certain first; never nothing."""
    found = [*_unwanted(path_of(url), policy, walked.notes), *_not_chosen(url, walked, policy)]
    return found or [_never_met(walked, policy)]


def _unwanted(tail: str, policy: CrawlPolicy, notes: Notes) -> Iterator[Absence]:
    """Addresses that are refused wherever they are met."""
    if is_binary(tail):
        ending = tail.partition("?")[0].rpartition(".")[2]
        yield Absence("binary", f"It ends in .{ending}: such files are not pages, and are not asked for.")
    if not Scope(policy.include, ()).wants(tail):
        yield Absence("not-included", f"It matches none of the --include patterns ({', '.join(policy.include)}).")
    for pattern in policy.exclude:
        if not Scope((), (pattern,)).wants(tail):
            yield Absence("excluded", f"It matches --exclude {pattern}.")
    shape = calendar_shape(tail)
    if is_endless(tail):
        yield Absence("endless", "Its parts repeat without end: such addresses are made by machines and not followed.")
    elif shape and notes.calendars.get(shape, 0) >= MOST_OF_A_CALENDAR:
        yield Absence("calendar", f"It is a date of a calendar, of which only {MOST_OF_A_CALENDAR} are read.")


def _not_chosen(url: str, walked: Walked, policy: CrawlPolicy) -> Iterator[Absence]:
    """What became of an address the walk has met."""
    one = walked.notes.candidates.get(url)
    if one is None:
        return
    if one.depth > policy.depth:
        clicks = f"{one.depth} click{'' if one.depth == 1 else 's'} from the homepage, more than --depth {policy.depth}"
        yield Absence("too-deep", f"It was found on {one.found_on}, {clicks}.")
    elif walked.state is SiteState.OPEN:
        yield Absence("waiting", f"It was found on {one.found_on} and not chosen yet: the site is still being read.")
    else:
        yield Absence("not-chosen", f"It was found on {one.found_on} ({_weight(one)}), {_limit(walked.notes, policy)}.")


def _weight(one: Candidate) -> str:
    links = f"{one.in_links:,} page{' links' if one.in_links == 1 else 's link'} to it"
    return f"{links}, sitemap priority {one.priority:g}" if one.priority else links


def _limit(notes: Notes, policy: CrawlPolicy) -> str:
    if notes.large:
        limits = f"--max-pages-per-domain {policy.pages_per_site}, --top-pages {policy.top_pages}"
        return f"but of a large site only the best pages are read ({limits})"
    return f"but the {policy.pages_per_site:,} pages of --max-pages-per-domain were full"


def _never_met(walked: Walked, policy: CrawlPolicy) -> Absence:
    if policy.as_given:
        return Absence("not-listed", "Only pages that were listed one by one are read, and it is none of them.")
    if walked.state is SiteState.FAILED:
        return Absence("site-failed", f"Nothing of the site could be read: {walked.reason or 'unknown'}.")
    if not walked.whole:
        return Absence(
            "not-whole", "Only pages that a redirect leads to are read of this site: it is not on your list."
        )
    if walked.notes.crowded:
        return Absence("crowded", "The site has more addresses than are remembered; it may have been one of them.")
    if walked.state is SiteState.OPEN:
        return Absence("not-met-yet", "Nothing that was read so far leads to it; the site is still being read.")
    return Absence("not-linked", "No page or sitemap that was read leads to it by a link that may be followed.")
