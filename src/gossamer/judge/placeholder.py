"""Pages that a server or a host puts where a site should be: not there yet, not paid for, broken, being mended.

They are told by their titles, which nobody writes over an article, and only where there is little else on the page.
"""

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


def find_placeholder(doc: Document) -> Trouble | None:
    found = _TITLES.get(doc.title.lower())
    if found is None or len(doc.text) > _LITTLE or len(doc.links) > _FEW_LINKS:
        return None
    return Trouble(Reason.PLACEHOLDER, found, doc.status)
