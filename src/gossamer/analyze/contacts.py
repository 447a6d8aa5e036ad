"""How to reach who is behind a page: addresses it links to or states, and text that can be nothing else."""

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

from gossamer.model.document import Document
from gossamer.model.record import Value
from gossamer.model.url import domain_of, host_of, path_of
from gossamer.parse.structured import clean

MOST = 50  # of each kind

_EMAIL = re.compile(r"(?<![\w.+-])[A-Za-z0-9][\w.+-]{0,63}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-]|\.\w)")
# Names of pictures for fine screens look the same: logo@2x.png.
_FILE_ENDING = re.compile(r"\.(?:png|jpe?g|gif|svg|webp|avif|css|js|ico)$", re.IGNORECASE)
_MADE_UP = frozenset({"example.com", "example.org", "example.net", "domain.com", "email.com", "sentry.io"})
_PHONE = re.compile(r"\+?[\d()][\d\s().\-/\u00a0]{5,24}\d")
_NETWORKS = {
    "facebook.com": "facebook",
    "fb.com": "facebook",
    "instagram.com": "instagram",
    "linkedin.com": "linkedin",
    "twitter.com": "twitter",
    "x.com": "twitter",
    "youtube.com": "youtube",
    "tiktok.com": "tiktok",
    "pinterest.com": "pinterest",
    "github.com": "github",
    "gitlab.com": "gitlab",
    "xing.com": "xing",
    "threads.net": "threads",
    "bsky.app": "bluesky",
    "t.me": "telegram",
    "wa.me": "whatsapp",
    "discord.gg": "discord",
    "reddit.com": "reddit",
    "medium.com": "medium",
    "vimeo.com": "vimeo",
}
# Buttons that share this page, or do something else: nobody's profile.
_NO_PROFILE = re.compile(
    r"/(?:sharer|share|shareArticle|intent|dialog|plugins|hashtag|home|search|login|signup|pin/create|embed|watch|submit"
    r"|privacy|legal|policies|tr)(?:[/?.]|$)",
    re.IGNORECASE,
)


def contacts_of(doc: Document, structured: dict[str, Value]) -> dict[str, Value]:
    """`emails`, `phones` and `social`, each once, those the page links to first."""
    hrefs = [(element.attr("href") or "").strip() for element in doc.tree.find_all("a")]
    stated = list(_stated(structured))
    emails = [
        *(_address(href) for href in hrefs if href[:7].lower() == "mailto:"),
        *(text for key, text in stated if key == "email"),
        *_EMAIL.findall(doc.text),
    ]
    phones = [
        *(unquote(href[4:]) for href in hrefs if href[:4].lower() == "tel:"),
        *(text for key, text in stated if key == "telephone"),
    ]
    profiles = [*(link.url for link in doc.links), *(text for key, text in stated if key == "sameas")]
    return {
        "emails": _few(_email(text) for text in emails),
        "phones": _few(_phone(text) for text in phones),
        "social": _social(profiles),
    }


def _few(found: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(text for text in found if text))[:MOST]


def _address(href: str) -> str:
    return unquote(href[7:].partition("?")[0])


def _email(text: str) -> str:
    text = text.strip().removeprefix("mailto:")
    if not _EMAIL.fullmatch(text) or _FILE_ENDING.search(text):
        return ""
    host = text.rpartition("@")[2].lower()
    return "" if host in _MADE_UP else f"{text.rpartition('@')[0]}@{host}"


def _phone(text: str) -> str:
    found = _PHONE.fullmatch(clean(text).strip())
    return " ".join(found[0].split()) if found else ""


def _social(urls: Iterable[str]) -> Value:
    found: dict[str, Value] = {}
    for url in urls:
        if not url.startswith(("http://", "https://")) or url.count("/") < 3:
            continue
        network = _NETWORKS.get(domain_of(host_of(url)), "")
        path = path_of(url)
        if network and network not in found and path != "/" and not _NO_PROFILE.match(path):
            found[network] = url
    return found


def _stated(structured: dict[str, Value]) -> Iterable[tuple[str, str]]:
    """What structured data says under certain names, wherever it stands."""
    waiting: list[Any] = [structured.get("json_ld"), structured.get("microdata"), structured.get("rdfa")]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += one
        elif isinstance(one, dict):
            for name, inner in one.items():
                key = name.rpartition("/")[2].lower()
                if key in ("email", "telephone", "sameas"):
                    said = inner if isinstance(inner, list) else [inner]
                    yield from ((key, text) for text in said if isinstance(text, str))
                if isinstance(inner, list | dict):
                    waiting.append(inner)
