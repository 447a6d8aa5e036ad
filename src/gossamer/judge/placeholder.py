"""Pages that a server or a host puts where a site should be: not there yet, not paid for, broken, being mended.

They are told by their titles, which nobody writes over an article, and only where there is little else on the page.
"""

import re

from ahocorasick_rs import AhoCorasick, Implementation

from gossamer.judge.headings import title_parts, words_of
from gossamer.judge.prose import has_prose
from gossamer.model.document import Document
from gossamer.model.trouble import Reason, Trouble

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


# Also beside the name of a site. What is called only "maintenance" may be what a site is about.
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
