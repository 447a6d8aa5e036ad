"""Which pages of a site a polite reader gets to see: the rules of walking, stated once more and on their own.

Nothing here knows how the sample web is made or how the crawler is built. A site is a function from an address to
what is seen there; the walk goes by these rules:

- Level by level from the start (level 0), at most `depth` levels below it. The addresses found on one level make the
  next, ordered by how many of its pages link there, then by `url_key`. At most `pages_per_site` addresses are chosen
  in all, and every chosen one counts, whatever becomes of it. An address already known to be a page of the walk is
  not chosen.
- A page's links are its anchors and a meta refresh of at most ten seconds, normalised, on the same site, not
  `nofollow` by themselves or by their page, and not ending in a binary extension.
- robots.txt is asked before every request, also on the way through redirects. A forbidden address is never requested.
- Redirects on the same site are followed up to five hops. One to another site hands the page over to that site; one
  to an address that is not public is refused.
- A page is what its same-site canonical link says, or its final address. A canonical link to the homepage from
  elsewhere is a mistake and ignored. What was seen before, in walking order, is not reported again and its links are
  not read again.
- What yields nothing (errors, blocks, soft 404s, things that are not HTML) yields no links either.
- With `sitemaps`, what the sitemap lists is found together with the links of the homepage, as linked from nowhere.
- A page handed over by another site is looked at after the walk; its links are not followed.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address

from gossamer.model.trouble import Reason
from gossamer.model.url import host_of, is_homepage, normalise, path_of, site_of_url, url_key

MOST_HOPS = 5
LONGEST_REFRESH = 10.0
BINARY = re.compile(
    r"\.(?:7z|apk|avi|bin|bmp|bz2|css|csv|dmg|docx?|eot|epub|exe|flac|gif|gz|ico|iso|jar|jpe?g|js|m4[av]|mkv|mov|mp[34]|mpeg"
    r"|msi|od[pst]|ogg|otf|pdf|png|pptx?|rar|rpm|rtf|svg|tar|tgz|tiff?|ttf|wav|webm|webp|wmv|woff2?|xlsx?|xz|zip)$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Caps:
    """How far a walk goes."""

    pages_per_site: int = 500
    depth: int = 50
    sitemaps: bool = False


@dataclass(frozen=True, slots=True)
class Href:
    href: str
    nofollow: bool = False


@dataclass(frozen=True, slots=True)
class Sight:
    """What is seen at an address. `redirect` is the Location as sent ("" if there is none), None for no redirect."""

    status: int = 200
    redirect: str | None = None
    reasons: tuple[Reason, ...] = ()  # not empty: it yields nothing, and a reader may say any of these
    hrefs: tuple[Href, ...] = ()
    nofollow: bool = False
    base: str = ""
    refresh: str = ""
    canonical: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    linked: str = "unlinked"


@dataclass(slots=True)
class Reached:
    """One page as the walk met it."""

    url: str
    sight: Sight
    reasons: tuple[Reason, ...] = ()
    requested: bool = True
    aliases: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Reach:
    """A walk that is over. `cut` says which cap ended it: "pages", "depth" or "" for none."""

    pages: tuple[Reached, ...]
    handed: tuple[str, ...]  # addresses on other sites
    cut: str


@dataclass(slots=True)
class _Walk:
    look: Callable[[str], Sight]
    allowed: Callable[[str], bool]
    site: str
    refusal: Reason
    pages: list[Reached] = field(default_factory=list)
    known: dict[str, Reached] = field(default_factory=dict)  # by identity
    handed: list[str] = field(default_factory=list)
    addresses: dict[str | tuple[str, str], str] = field(default_factory=dict)  # by link

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
        return final if is_homepage(canonical) and not is_homepage(final) else canonical

    def links(self, page: Reached) -> set[str]:
        """Addresses on the same site that a page wants to be followed to."""
        sight = page.sight
        if page.reasons or sight.nofollow:
            return set()
        base = normalise(sight.base, page.url) if sight.base else page.url
        hrefs = [href.href for href in sight.hrefs if not href.nofollow]
        if refresh := refresh_target(sight.refresh):
            hrefs.append(refresh)
        found = {self._address(href, base or page.url) for href in hrefs}
        return found - {""}

    def _address(self, href: str, base: str) -> str:
        """The page a link leads to; "" if it leads to none, or to none of this site."""
        # Navigation repeats itself on every page. Links that begin at the root mean the same on all of them.
        key = href if href.startswith("/") and not href.startswith("//") else (href, base)
        known = self.addresses.get(key)
        if known is None:
            url = normalise(href, base)
            known = url if url and site_of_url(url) == self.site and not _is_binary(url) else ""
            self.addresses[key] = known
        return known


def walk(
    start: str,
    look: Callable[[str], Sight],
    allowed: Callable[[str], bool],
    caps: Caps,
    *,
    sitemap: Iterable[str] = (),
    handed_over: Sequence[str] = (),
    refusal: Reason = Reason.ROBOTS,
) -> Reach:
    """Walk one site from its homepage. `refusal` is what to say of an address that is not allowed."""
    walked = _Walk(look, allowed, site_of_url(start), refusal)
    level, chosen, cut = [start], {start}, ""
    for depth in range(caps.depth + 1):
        found: Counter[str] = Counter()
        for url in level:
            page = walked.visit(url)
            if page is not None:
                found.update(walked.links(page))
        if depth == 0 and caps.sitemaps and not walked.pages[0].reasons:
            found.update(dict.fromkeys(_listed(sitemap, walked.site), 0))
        fresh = [url for url in found if url not in chosen and url not in walked.known]
        fresh.sort(key=lambda url: (-found[url], url_key(url)))
        room = caps.pages_per_site - len(chosen) if depth < caps.depth else 0
        if len(fresh) > room:
            cut = "pages" if depth < caps.depth else "depth"
        level = fresh[:room]
        chosen.update(level)
        if not level:
            break
    for url in handed_over:
        walked.visit(url)
    return Reach(tuple(walked.pages), tuple(walked.handed), cut)


def _listed(sitemap: Iterable[str], site: str) -> list[str]:
    found = (normalise(url) for url in sitemap)
    return [url for url in found if url and site_of_url(url) == site and not _is_binary(url)]


def refresh_target(content: str) -> str:
    """Where a meta refresh leads, if it does so soon enough; "" otherwise."""
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


def _is_binary(url: str) -> bool:
    return BINARY.search(path_of(url).partition("?")[0]) is not None
