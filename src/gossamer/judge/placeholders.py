"""Placeholder pages in place of a site: of parking services, hosts, servers, maintenance.

They are recognised by their titles, which no article has, and only if there is little else on the page.
"""

import re

from ahocorasick_rs import AhoCorasick, Implementation

from gossamer.judge.wording import has_prose, title_parts, words_of
from gossamer.model.document import Document
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.url import domain_of, host_of

SHORT = 1_500
_SIGN = 800
_BARE_SIGN = 200
_LONGEST_OFFER = 4_000  # brokers answer questions on them
_FEW_LINKS_OF_PARKING = 20

_SIGNS = re.compile(
    r"\b(?:th(?:is|e) (?:web ?site |web )?domain(?: name)?(?: [a-z0-9.-]+)? (?:is|may be|might be|could be) for sale"
    r"|buy this domain|inquire about this domain|make an offer on this domain"
    r"|this domain (?:name )?(?:is|has been) (?:parked|registered|expired|reserved)"
    r"|domain (?:is )?parked|parked free,? courtesy of"
    r"|diese domain (?:steht zum verkauf|ist zu verkaufen|wurde registriert)"
    r"|ce (?:nom de )?domaine est à vendre|este dominio está (?:en venta|a la venta)|domein te koop)"
)
# A domain offered in a title, or a part of it: "shop.example is for sale", "shop.example - this website is for sale!".
_OFFER = re.compile(
    r"(?:^|[|:»•·–—-] )(?:the )?(?:domain(?: name)? )?(?:www\.)?"
    r"([a-z0-9][a-z0-9.-]*\.[a-z][a-z0-9-]+)(?: domain(?: name)?)?"
    r"(?:(?: [-–—|])? (?:this|the|diese) (?:web ?site|domain(?: name)?))?"
    r" (?:(?:is|may be|might be|could be) for sale|steht zum verkauf|ist zu verkaufen)\b"
)


def find_parked(doc: Document, *, served: bool) -> Trouble | None:
    """`served`: a parking service is named in the bytes of the page."""
    return Trouble(Reason.PARKED, http_status=doc.status) if _is_parked(doc, served=served) else None


def _is_parked(doc: Document, *, served: bool) -> bool:
    length = len(doc.text)
    if length <= SHORT and served:
        return True
    if length <= _LONGEST_OFFER and _offers_itself(doc):
        return True
    if length > _SIGN or len(doc.links) > _FEW_LINKS_OF_PARKING:
        return False
    # Brokers sell other people's domains too: a sign counts where the page speaks of its own.
    said = f"{doc.title} {doc.text}".lower()
    own = domain_of(host_of(doc.url))
    if own not in said and length > _BARE_SIGN:
        return False
    return f"{own} is for sale" in said or _SIGNS.search(said) is not None


def _offers_itself(doc: Document) -> bool:
    """Return True if the title offers the requested domain itself for sale.

    A broker's pages about other domains are ordinary content.
    """
    title = doc.title.lower()
    if "sale" not in title and "verk" not in title:
        return False
    offered = _OFFER.search(title)
    return offered is not None and offered[1] in (domain_of(host_of(doc.url)), domain_of(host_of(doc.requested)))


_LITTLE = 4_000  # characters; Debian's welcome page has 3,500
_FEW_LINKS = 15

_WELCOME, _SUSPENDED = "a web server without a site", "the hosting account is suspended"
_DATABASE, _MAINTENANCE = "the site's database does not answer", "closed for maintenance"
_TITLES = {
    "welcome to nginx!": _WELCOME,
    "apache2 ubuntu default page: it works": _WELCOME,
    "apache2 debian default page: it works": _WELCOME,
    "test page for the apache http server": _WELCOME,
    "iis windows server": _WELCOME,
    "default web site page": _WELCOME,
    "account suspended": _SUSPENDED,
    "this account has been suspended": _SUSPENDED,
    "suspended domain": _SUSPENDED,
    "database error": _DATABASE,
    "error establishing a database connection": _DATABASE,
    "maintenance mode": _MAINTENANCE,
    "under maintenance": _MAINTENANCE,
    "site under maintenance": _MAINTENANCE,
    "website under maintenance": _MAINTENANCE,
    "wartungsmodus": _MAINTENANCE,
}


# Also next to the name of a site. A title of only "maintenance" may be the topic of a site.
_FOR_MAINTENANCE = re.compile(
    r"(?:(?:we(?:'re| are)|(?:this |the |our )?(?:web ?)?site(?: is)?|currently|temporarily) )*"
    r"(?:(?:down|closed|offline|off line|unavailable|out of service) (?:for|due to)(?: \w+){0,2} maintenance"
    r"|(?:under|undergoing|in)(?: \w+)? maintenance(?: mode)?|maintenance (?:mode|in progress|underway)"
    r"|temporar(?:y|ily) (?:service |site )?(?:interruption|interrupted|outage|unavailable|offline|closed|down)"
    r"|temporarily out of service"
    r"|service (?:temporarily |currently )?(?:interrupted|unavailable)"
    r"|we(?:'ll| will) be (?:right )?back(?: soon| shortly)?)"
    r"|(?:wegen )?wartungsarbeiten|wir sind (?:bald|gleich) wieder (?:da|für sie da)|(?:site |page )?en maintenance"
    r"|(?:sitio |página |web )?en mantenimiento|(?:sito |pagina )?in manutenzione|(?:site |página )?em manutenção"
    r"|(?:site |website )?in onderhoud|under underhåll|(?:strona |serwis )?w trakcie prac|przerwa techniczna"
    r"|(?:сайт )?на (?:техническом )?обслуживании|(?:ведутся )?технические работы"
    r"|ただいまメンテナンス中です|メンテナンス中(?:です)?"
    r"|(?:系统|系統|网站|網站)?维护中|(?:系统|系統|网站|網站)?維護中|(?:서버 |시스템 )?점검 중(?:입니다)?"
)
# Names of services, of announcements and of films as well: only where the page says that it is so now.
_MAYBE_MAINTENANCE = re.compile(
    r"(?:scheduled |planned )?(?:(?:site|web ?site|system|server) maintenance|maintenance (?:page|break))"
    r"|service interruption|be right back"
)
_NOW = re.compile(
    r"\b(?:be|are|is|'re|'s) (?:right )?back (?:soon|shortly|online|later|in)\b"
    r"|\b(?:check|come) back (?:soon|shortly|later|again|in)\b"
    r"|\b(?:try|visit us) again (?:later|soon|shortly|in)\b|\b(?:the|any|this|for) inconvenience\b"
    r"|(?<!your )\b(?:we|site|shop|store|page|service)(?:'re| are|'s| is)"
    r" (?:currently|temporarily|offline|closed|unavailable|under|down for)\b"
)
# What every match of the first two has in it; most titles have none of them, which is found out much faster.
_MAYBE = AhoCorasick(
    ["mainten", "temporar", "offline", "closed", "interrupt", "unavailable", "back", "wartung", "wieder",
     "mantenimiento", "manutenzione", "manutenção", "onderhoud", "underhåll", "trakcie", "przerwa",
     "обслуж", "технические",
     "メンテ", "维护", "維護", "점검"],
    implementation=Implementation.DFA,
)  # fmt: skip
_BRIEF = 1_000  # characters that are no menu
_HARDLY_ANY = 60


def find_placeholder(doc: Document) -> Trouble | None:
    if len(doc.text) > _LITTLE or len(doc.links) > _FEW_LINKS:
        return None
    found = _TITLES.get(doc.title.lower())
    if found is None and _is_for_maintenance(doc) and not has_prose(doc, _BRIEF):
        found = _MAINTENANCE
    return Trouble(Reason.PLACEHOLDER, found, doc.status) if found else None


def _is_for_maintenance(doc: Document) -> bool:
    if not _MAYBE.find_matches_as_indexes(doc.title.lower()):
        return False
    parts = {words_of(part) for part in (doc.title, *title_parts(doc))}
    if any(_FOR_MAINTENANCE.fullmatch(part) for part in parts):
        return True
    if not any(_MAYBE_MAINTENANCE.fullmatch(part) for part in parts):
        return False
    return len(doc.text) <= _HARDLY_ANY or _NOW.search(doc.text.lower().replace("’", "'")) is not None
