"""The page that a crawler sees at an address, through redirects and canonical links.

- robots.txt is asked before every request, also on the way through redirects. A forbidden address is never requested.
- Redirects on the same site are followed up to five hops. One to another site hands the page over to that site; one
  to an address that is not public is refused.
- A page is what its same-site canonical link says, or its final address. A canonical link to the homepage from
  elsewhere is a mistake and ignored. What was seen before, in walking order, is not reported again and its links are
  not read again.
- What yields nothing (errors, blocks, soft 404s, things that are not HTML) yields no links either.
- A page's links are its anchors and a meta refresh of at most ten seconds, normalised, unless the link or the page
says
  `nofollow` (links also by `ugc` and `sponsored`).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address

from gossamer.model.trouble import Reason
from gossamer.model.url import host_of, is_homepage, normalise, site_of_url

MOST_HOPS = 5
LONGEST_REFRESH = 10.0


@dataclass(frozen=True, slots=True)
class Href:
    href: str
    nofollow: bool = False


@dataclass(frozen=True, slots=True)
class Mention:
    """A keyword on a page: its frequency, the verdict on links to the client, and its best position."""

    frequency: int
    verdict: str  # "linked", "nofollow", "links-elsewhere" or "unlinked"
    position: str  # "title", "heading", "body" or "navigation"


@dataclass(frozen=True, slots=True)
class Sight:
    """The page seen at an address. `redirect` is the Location as sent ("" if there is none), None for no redirect."""

    status: int = 200
    redirect: str | None = None
    reasons: tuple[Reason, ...] = ()  # not empty: it yields nothing, and a reader may say any of these
    hrefs: tuple[Href, ...] = ()
    nofollow: bool = False
    base: str = ""
    refresh: str = ""
    canonical: str = ""
    mentions: Mapping[str, Mention] = field(default_factory=dict)  # by keyword


@dataclass(slots=True)
class Reached:
    """One page as the walk met it."""

    url: str
    sight: Sight
    reasons: tuple[Reason, ...] = ()
    requested: bool = True
    aliases: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Seeing:
    """One reader on one site, and the pages it has seen so far."""

    look: Callable[[str], Sight]
    allowed: Callable[[str], bool]
    site: str
    refusal: Reason
    pages: list[Reached] = field(default_factory=list)
    known: dict[str, Reached] = field(default_factory=dict)  # by identity
    handed: list[str] = field(default_factory=list)
    _front: str = ""  # what the first page that was seen turned out to be
    _entry: str = ""  # the address it was asked for by
    _addresses: dict[str | tuple[str, str], str] = field(default_factory=dict)  # by link

    def visit(self, url: str) -> Reached | None:
        """Look at one chosen address; None if it turns out to be a page already seen."""
        hops, sight, reasons = self._follow(url)
        if reasons:
            page = Reached(url, sight, reasons, requested=bool(hops), aliases=set(hops) - {url})
            self.pages.append(page)
            return page
        final = hops[-1]
        identity = self._identity(final, sight)
        page = Reached(final, sight, aliases={*hops, identity} - {final})
        first = self.known.setdefault(identity, page)
        self._front = self._front or identity
        self._entry = self._entry or url
        if first is not page:
            first.aliases |= ({*hops, identity}) - {first.url}
            return None
        self.pages.append(page)
        return page

    def _follow(self, url: str) -> tuple[list[str], Sight, tuple[Reason, ...]]:
        """The addresses requested on the way, what was seen at the last of them, and what is wrong with it."""
        hops: list[str] = []
        sight = Sight(status=0)
        while len(hops) <= MOST_HOPS:
            if not self.allowed(url):
                return hops, sight, (self.refusal,)
            hops.append(url)
            sight = self.look(url)
            if sight.redirect is None:
                return hops, sight, sight.reasons
            url, reasons = self._target(sight.redirect, url)
            if reasons:
                return hops, sight, reasons
        return hops, sight, (Reason.REDIRECT_LOOP,)

    def _target(self, location: str, at: str) -> tuple[str, tuple[Reason, ...]]:
        target = normalise(location, at) if location.strip() else None
        if target is None:
            # An empty Location read as a relative address leads back to where it came from.
            return "", (Reason.BAD_REDIRECT,) if location.strip() else (Reason.BAD_REDIRECT, Reason.REDIRECT_LOOP)
        if not _is_public(host_of(target)):
            return "", (Reason.FORBIDDEN_ADDRESS, Reason.BAD_REDIRECT)
        if site_of_url(target) != self.site:
            self.handed.append(target)
            return "", (Reason.MOVED,)
        return target, ()

    def _identity(self, final: str, sight: Sight) -> str:
        canonical = normalise(sight.canonical, final) if sight.canonical else None
        if canonical is None or site_of_url(canonical) != self.site:
            return final
        if canonical == self._front and _bare(final) not in (_bare(canonical), _bare(self._entry)):
            return final
        return final if is_homepage(canonical) and not is_homepage(final) else canonical

    def links(self, page: Reached) -> Iterator[str]:
        """Addresses of any site that a page wants to be followed to, each once, in the order of the page."""
        sight = page.sight
        if page.reasons or sight.nofollow:
            return
        base = normalise(sight.base, page.url) if sight.base else page.url
        hrefs = [href.href for href in sight.hrefs if not href.nofollow]
        if refresh := refresh_target(sight.refresh):
            hrefs.append(refresh)
        for url in dict.fromkeys(self._address(href, base or page.url) for href in hrefs):
            if url:
                yield url

    def _address(self, href: str, base: str) -> str:
        """The address a link leads to; "" if it leads nowhere."""
        # Navigation repeats itself on every page. Links that begin at the root mean the same on all of them.
        key = href if href.startswith("/") and not href.startswith("//") else (href, base)
        known = self._addresses.get(key)
        if known is None:
            known = self._addresses[key] = normalise(href, base) or ""
        return known


def _bare(url: str) -> str:
    return url.partition("?")[0]


def refresh_target(content: str) -> str:
    """Return the target of a meta refresh that fires soon enough, else ""."""
    seconds, _, rest = content.partition(";")
    try:
        soon = float(seconds) <= LONGEST_REFRESH
    except ValueError:
        return ""
    name, _, target = rest.strip().partition("=")
    return target.strip().strip("'\"") if soon and name.strip().lower() == "url" else ""


def _is_public(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_global
    except ValueError:
        return True
