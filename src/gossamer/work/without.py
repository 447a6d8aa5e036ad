"""Rows without what a person wants forgotten: each as it may stay."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson

from gossamer.frontier.notes import links_without, notes_without
from gossamer.model.page import PageRequest
from gossamer.model.record import RecordKind
from gossamer.model.states import PageState
from gossamer.model.trouble import Reason
from gossamer.model.url import origin_of, site_of_url
from gossamer.retain.mention import Mention, mark
from gossamer.retain.queries import NamingPage, NamingRecord, NamingSite

_NOT_AGAIN = (PageState.PENDING, PageState.FAILED)


def site_changes(one: NamingSite, mention: Mention) -> dict[str, Any]:
    """A domain's own sites are walked no further. What a person listed stays, since it is theirs; a site that was only
    met loses its name."""
    changes: dict[str, Any] = {}
    if mention.is_in(one.detail):
        changes["detail"] = ""
    if not one.listed and mention.is_in(one.given):
        changes["given"] = "redirect"
    if mention.covers(one.host):
        changes |= {"whole": False, "robots": {}, "errands": [], "notes": b"", "detail": ""}
        if not one.listed:
            host = f"forgotten-{one.id.hex[-8:]}.invalid"
            changes |= {"host": host, "domain": host, "given": "redirect", "entries": [f"http://{host}/"]}
    elif one.host == mention.host:
        changes["notes"] = notes_without(one.notes, mention.is_in) or one.notes
        changes["errands"] = [errand for errand in one.errands if not mention.is_in(errand[1])]
    return {name: value for name, value in changes.items() if getattr(one, name, None) != value}


def page_without(page: NamingPage, mention: Mention, *, forgotten: bool = False) -> NamingPage:
    """A page; `forgotten`: the very one that is meant."""
    renamed = site_of_url(page.url) != page.host
    origin = f"http://{page.host}" if renamed else origin_of(page.url)
    if forgotten:
        page = replace(page, url=mark(origin, page.key))
        if page.state in _NOT_AGAIN:
            page = replace(page, state=PageState.SKIPPED, reason="", detail="")
    if page.detail and mention.is_in(page.detail):
        # Where it says which page it is the same as, there must be an address.
        page = replace(page, detail=mark(origin, page.key) if page.reason == Reason.SAME_AS.name else "")
    if mention.is_in(page.found_on):
        page = replace(page, found_on="")
    if page.request is not None:
        page = _unasked(page, mention, forgotten=forgotten)
    if page.links:
        links = b"" if renamed or mention.covers(page.host) else links_without(page.links, mention.is_in, f"{origin}/")
        page = replace(page, links=page.links if links is None else links)
    return page


def _unasked(page: NamingPage, mention: Mention, *, forgotten: bool) -> NamingPage:
    """A page that a recipe has asked for, without the facts it carries and what is sent for it where they name it."""
    carried = orjson.dumps(page.carry).decode() if page.carry else ""
    if carried and (forgotten or mention.is_in(carried)):
        page = replace(page, carry=None)
    asked = PageRequest.unpack(page.request or b"")
    sent = " ".join((asked.identity, asked.body.decode("utf-8", "replace"), *(value for _, value in asked.headers)))
    if forgotten or mention.is_in(sent):
        page = replace(page, request=asked._replace(identity="", body=b"", headers=()).pack())
    return page


def record_without(record: NamingRecord, mention: Mention, kinds: Sequence[RecordKind]) -> NamingRecord | None:
    """A record of another page without what names it; None if nothing does. What makes it this record stays, where
    that is known."""
    fixed = next((kind.key for kind in kinds if kind.name == record.kind), ())
    named = {name for name, value in record.data.items() if isinstance(value, str) and mention.is_in(value)}
    emptied = dict.fromkeys(named.difference(fixed), "")
    return replace(record, data={**record.data, **emptied}) if emptied else None
