"""Facts a page states about itself: title, headings, cards, contacts, the technologies it is made with."""

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote

from gossamer.analyze.dates import page_date
from gossamer.model.document import Document
from gossamer.model.record import Value
from gossamer.model.url import domain_of, host_of, normalise, path_of
from gossamer.parse.metadata import base_of
from gossamer.parse.parts import Landmarks
from gossamer.parse.structured import clean, structured_data
from gossamer.parse.text import tidy

# By the addresses of scripts, styles and pictures.
_PARTS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "WordPress": r"/wp-(?:content|includes)/",
        "WooCommerce": r"/plugins/woocommerce/",
        "Elementor": r"/plugins/elementor/",
        "Shopify": r"//cdn\.shopify\.com/|/cdn/shop/",
        "Wix": r"//static\.(?:wixstatic|parastorage)\.com/",
        "Squarespace": r"//(?:static1|assets)\.squarespace\.com/",
        "Webflow": r"//(?:assets|uploads-ssl|cdn\.prod)\.website-files\.com/|//assets\.website-files\.com/",
        "Drupal": r"/sites/(?:default|all)/(?:files|modules|themes)/|/core/misc/drupal",
        "Joomla": r"/media/(?:jui|system|vendor/joomla)/",
        "TYPO3": r"/typo3(?:conf|temp)/",
        "Magento": r"/static/version\d+/frontend/|/skin/frontend/",
        "PrestaShop": r"/modules/ps_\w+/",
        "HubSpot": r"//js\.hs-scripts\.com/|//[\w.-]+\.hubspotusercontent",
        "Next.js": r"/_next/static/",
        "Nuxt": r"/_nuxt/",
        "Gatsby": r"/page-data/app-data\.json|/webpack-runtime-[0-9a-f]+\.js",
        "jQuery": r"/jquery[.-][\w.-]*js|/jquery(?:\.min)?\.js",
        "React": r"/react(?:-dom)?[.@-][\w.@/-]*js",
        "Vue.js": r"/vue(?:[.@-][\w.@/-]*)?\.js",
        "Angular": r"/angular(?:[.-][\w.-]*)?\.js",
        "Bootstrap": r"/bootstrap(?:[.@-][\w.@/-]*)?\.(?:css|js)",
        "Tailwind CSS": r"//cdn\.tailwindcss\.com",
        "Font Awesome": r"/font-?awesome|//kit\.fontawesome\.com/",
        "Google Tag Manager": r"//www\.googletagmanager\.com/(?:gtm|ns)",
        "Google Analytics": r"//www\.google-analytics\.com/|googletagmanager\.com/gtag/",
        "Google Fonts": r"//fonts\.(?:googleapis|gstatic)\.com/",
        "Matomo": r"/(?:matomo|piwik)\.js",
        "Plausible": r"//plausible\.io/js/",
        "Hotjar": r"//static\.hotjar\.com/",
        "Meta Pixel": r"//connect\.facebook\.net/",
        "Stripe": r"//js\.stripe\.com/",
        "reCAPTCHA": r"/recaptcha/(?:api|enterprise)",
        "Cloudflare Turnstile": r"//challenges\.cloudflare\.com/turnstile/",
    }.items()
}
_ELEMENTS = {"Next.js": "script#__NEXT_DATA__", "Nuxt": "#__nuxt", "Gatsby": "#___gatsby", "Angular": "[ng-version]"}
_SERVERS = re.compile(r"(nginx|apache|litespeed|microsoft-iis|caddy|cloudflare|openresty|gunicorn)\b", re.IGNORECASE)
_SPELLED = {
    "nginx": "nginx",
    "apache": "Apache",
    "litespeed": "LiteSpeed",
    "microsoft-iis": "Microsoft IIS",
    "caddy": "Caddy",
    "cloudflare": "Cloudflare",
    "openresty": "OpenResty",
    "gunicorn": "Gunicorn",
}
_GENERATOR = re.compile(r"[A-Za-z][\w.+ -]{0,59}")
_MOST_PARTS = 1_000


def technologies_of(doc: Document, metas: Mapping[str, str]) -> list[str]:
    """Names in alphabetical order, each once."""
    found: set[str] = set()
    stated = _GENERATOR.match(metas.get("generator", ""))
    if stated:
        found.add(re.sub(r"\s+v?\d[\w.]*.*", "", stated[0]).strip())
    server = _SERVERS.search(doc.headers.get("server", ""))
    if server:
        found.add(_SPELLED[server[1].lower()])
    powered = doc.headers.get("x-powered-by", "").partition("/")[0].partition(",")[0].strip()
    if _GENERATOR.fullmatch(powered):
        found.add(powered)
    parts = "\n".join(_addresses(doc))
    found |= {name for name, pattern in _PARTS.items() if pattern.search(parts)}
    found |= {name for name, selector in _ELEMENTS.items() if doc.tree.select_one(selector) is not None}
    return sorted(found, key=str.casefold)


def _addresses(doc: Document) -> list[str]:
    found = [
        element.attr(name) or ""
        for tag, name in (("script", "src"), ("link", "href"), ("img", "src"))
        for element in doc.tree.find_all(tag, limit=_MOST_PARTS)
    ]
    return [address for address in found if address and len(address) < 2_000]


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
# Buttons that share this page, or do something else: not profiles.
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
    """Yield the values of certain names (email, telephone, sameAs) at any depth of structured data."""
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


MOST_HEADINGS = 200
_MOST_WORDS = 100
_MOST_TYPES = 50
_LONGEST = 2_000  # characters of one value
_LEVELS = ("h1", "h2", "h3")
_ICONS = ("icon", "shortcut icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon")
_USUAL_ICON = "/favicon.ico"


def page_facts(doc: Document, structured: dict[str, Value] | None = None) -> dict[str, Value]:
    """Everything the page states, the same names for every page; what it does not state is empty."""
    base = base_of(doc.tree, doc.url)
    named = _named_metas(doc)
    data = structured_data(doc.tree, doc.url) if structured is None else structured
    described = named.get("description") or named.get("og:description") or named.get("twitter:description") or ""
    return {
        "title": doc.title,
        "description": described,
        "language": doc.language,
        "canonical": doc.canonical,
        "site_name": named.get("og:site_name") or named.get("application-name") or "",
        "author": named.get("author") or named.get("article:author") or "",
        "date": page_date(doc),
        "keywords": _words(named.get("keywords", "")),
        "robots": named.get("robots", ""),
        "headings": _headings(doc),
        "open_graph": {name[3:]: said for name, said in named.items() if name.startswith("og:")},
        "twitter_card": {name[8:]: said for name, said in named.items() if name.startswith("twitter:")},
        "favicon": _favicon(doc, base),
        "structured_types": _types(data),
        **contacts_of(doc, data),
        "technologies": technologies_of(doc, named),
    }


def _named_metas(doc: Document) -> dict[str, str]:
    """Meta elements by name or property in lower case; the first of a name that says something counts."""
    landmarks: Landmarks = doc.landmarks
    named: dict[str, str] = {}
    for meta in landmarks.metas:
        name = (meta.attr("property") or meta.attr("name") or meta.attr("itemprop") or "").strip().lower()
        said = clean(tidy((meta.attr("content") or "")[: 4 * _LONGEST]))[:_LONGEST]
        if name and said and len(name) <= 100:
            named.setdefault(name, said)
    return named


def _headings(doc: Document) -> Value:
    landmarks: Landmarks = doc.landmarks
    found: dict[str, Value] = {}
    for level in _LEVELS:
        of_level = (element for element in landmarks.headings if element.tag == level)
        said: Iterable[str] = (clean(tidy(element.text))[:_LONGEST] for element in of_level)
        found[level] = list(dict.fromkeys(text for text in said if text))[:MOST_HEADINGS]
    return found


def _words(text: str) -> list[str]:
    return [word for word in map(tidy, text.split(",")) if word][:_MOST_WORDS]


def _favicon(doc: Document, base: str) -> str | None:
    by_relation: dict[str, str] = {}
    for element in doc.tree.find_all("link"):
        relation = " ".join((element.attr("rel") or "").lower().split())
        if relation in _ICONS and relation not in by_relation and (href := element.attr("href")):
            address = normalise(href.strip(), base)
            if address:
                by_relation[relation] = address
    stated = next((by_relation[relation] for relation in _ICONS if relation in by_relation), None)
    return stated or normalise(_USUAL_ICON, doc.url)


def _types(data: dict[str, Value]) -> list[str]:
    """Return the schema.org types that the page declares: Product, Article, ..."""
    found: dict[str, None] = {}
    for named in _walk(data.get("json_ld"), "@type"):
        found[named] = None
    for kind in ("microdata", "rdfa"):
        for named in _walk(data.get(kind), "type"):
            found[named] = None
    return [name for name in found if name][:_MOST_TYPES]


def _walk(value: Any, key: str) -> Iterable[str]:
    waiting = [value]
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, list):
            waiting = [*one, *waiting]
        elif isinstance(one, dict):
            stated = one.get(key)
            for named in stated if isinstance(stated, list) else [stated]:
                if isinstance(named, str):
                    yield from (part.rstrip("/").rpartition("/")[2].rpartition("#")[2] for part in named.split())
            waiting = [*(inner for inner in one.values() if isinstance(inner, list | dict)), *waiting]
