"""What a page is evidently made with: by what it says itself, and by where its parts come from. No guesses."""

import re
from collections.abc import Mapping

from gossamer.model.document import Document

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
