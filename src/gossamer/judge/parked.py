"""Domains nobody uses: pages of parking services and "for sale" signs."""

import re

from gossamer.model.document import Document
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.url import domain_of, host_of

SHORT = 1_500
_SIGN = 800
_BARE_SIGN = 200
_LONGEST_OFFER = 4_000  # brokers answer questions on them
_FEW_LINKS = 20

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
    if length > _SIGN or len(doc.links) > _FEW_LINKS:
        return False
    # Brokers sell other people's domains too: a sign counts where the page speaks of its own.
    said = f"{doc.title} {doc.text}".lower()
    own = domain_of(host_of(doc.url))
    if own not in said and length > _BARE_SIGN:
        return False
    return f"{own} is for sale" in said or _SIGNS.search(said) is not None


def _offers_itself(doc: Document) -> bool:
    """Whether the title offers the domain that was asked for: a broker's other offers are wares."""
    title = doc.title.lower()
    if "sale" not in title and "verk" not in title:
        return False
    offered = _OFFER.search(title)
    return offered is not None and offered[1] in (domain_of(host_of(doc.url)), domain_of(host_of(doc.requested)))
