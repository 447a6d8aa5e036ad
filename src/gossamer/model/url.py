"""URLs: normalisation, the site and domain of a URL, and file extensions that are not pages.

Some extensions are also words: `/wiki/Node.js` is a page, and so is `/tag/package.json`. Scripts and data are rarely
linked to, and are recognised by their content type.
"""

import re
from collections.abc import Collection
from contextlib import suppress
from functools import cache, lru_cache
from hashlib import blake2b
from ipaddress import ip_address

import ada_url
from publicsuffixlist import PublicSuffixList

MAX_URL_LENGTH = 2_000

# Parameters that identify the visitor or the referrer, and never the content.
_TRACKING = re.compile(
    r"(?:utm_[a-z_]+|gclid|gclsrc|dclid|gbraid|wbraid|fbclid|msclkid|yclid|twclid|ttclid|li_fat_id|igshid|mc_cid|mc_eid"
    r"|_ga|_gl|_hsenc|_hsmi|hsctatracking|mkt_tok|vero_id|oly_anon_id|oly_enc_id|s_kwcid|wickedid"
    r"|phpsessid|jsessionid|aspsessionid[a-z]*)(?:=|$)"
    # A short value may be the number of a story, or a session at a conference.
    r"|sid=(?:[0-9a-z]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$"
    r"|session_?id=(?=[^0-9]*[0-9])[0-9a-z%._~-]{16,}$",
    re.IGNORECASE,
)
_PATH_SESSION = re.compile(r";jsessionid=[^/?#;]*", re.IGNORECASE)
# Escapes that are normalised: those of unreserved characters, and those in lower case. After a stray percent sign they
# stay, because both together would become another escape: `%4%41` is not `%4A`.
_ESCAPE = re.compile(
    r"%(?<!%%)(?<!%[0-9A-Fa-f]%)"
    r"(2[DEde]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff]|7[Ee]|[0-9A-Fa-f][a-f]|[a-f][0-9A-Fa-f])"
)
# Links that are not pages, of which there are many: mail, telephone numbers, programs.
_OTHER_SCHEME = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*:", re.IGNORECASE | re.ASCII)
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def normalise(url: str, base: str | None = None) -> str | None:
    """Normalise an http(s) URL; None if it is not one. Idempotent.

    Fragment, default port, dot segments, user info, tracking and session parameters are removed; the host is lower
    case and punycode; percent-escapes are upper case and only where needed.
    """
    if _OTHER_SCHEME.match(url):
        return None
    try:
        joined: str = ada_url.join_url(base, url) if base is not None else ada_url.normalize_url(url)
    except ValueError:
        return None
    return _tidy(joined)


def as_told(url: str, base: str) -> str | None:
    """Return an address that a site gave for a request: normalised, but with all its query parameters."""
    try:
        joined: str = ada_url.join_url(base, url)
    except ValueError:
        return None
    return _tidy(joined, whole=True) or _tidy(joined)  # without what makes it too long, if that helps


def _tidy(joined: str, *, whole: bool = False) -> str | None:
    if not joined.startswith(("http://", "https://")):
        return None
    joined = joined.partition("#")[0]
    scheme, _, rest = joined.partition("://")
    slash = rest.find("/")
    authority, tail = (rest, "/") if slash < 0 else (rest[:slash], rest[slash:])
    authority = authority.rpartition("@")[2]
    if ".:" in authority or authority.endswith("."):
        # A trailing dot: `example.com.` is the same site.
        host, colon, port = authority.partition(":")
        authority = host.rstrip(".") + colon + port
    if not authority or authority.startswith(":"):
        return None
    # Escapes first: they may hide a session, a tracking parameter or a dot segment; a session may hide dot segments.
    if "%" in tail:
        tail = _ESCAPE.sub(_escape, tail)
    path, _, query = tail.partition("?")
    if ";" in path and not whole:
        path = _PATH_SESSION.sub("", path)
    if "/." in path:
        path = _resolve_dots(path)
    if query and not whole:
        query = "&".join(part for part in query.split("&") if part and not _TRACKING.match(part))
    tidy = f"{scheme}://{authority}{path}?{query}" if query else f"{scheme}://{authority}{path}"
    return tidy if len(tidy) <= MAX_URL_LENGTH else None


def _escape(match: re.Match[str]) -> str:
    character = chr(int(match[1], 16))
    return character if character in _UNRESERVED else match[0].upper()


def _resolve_dots(path: str) -> str:
    """Resolve `.` and `..` segments that unescaping has uncovered."""
    kept: list[str] = []
    segments = path.split("/")[1:]
    for position, segment in enumerate(segments):
        last = position == len(segments) - 1
        if segment == "..":
            if kept:
                kept.pop()
            if last:
                kept.append("")
        elif segment == ".":
            if last:
                kept.append("")
        else:
            kept.append(segment)
    return "/" + "/".join(kept)


def host_of(url: str) -> str:
    """Return the host of a normalised URL, without port."""
    authority = url.split("/", 3)[2]
    if ":" not in authority:
        return authority
    if authority.startswith("["):
        return authority.partition("]")[0] + "]"
    return authority.partition(":")[0]


def origin_of(url: str) -> str:
    """Return scheme, host and port of a normalised URL."""
    return url[: url.index("/", 8)]


def path_of(url: str) -> str:
    """Return path and query of a normalised URL."""
    return url[url.index("/", 8) :]


def is_homepage(url: str) -> bool:
    return path_of(url) == "/"


@lru_cache(maxsize=8_192)
def site_of(host: str) -> str:
    """Return the site of a host: the host itself without `www`."""
    bare = host.removeprefix("www.")
    # "www.com" is a name of its own, not the twin of a top-level domain.
    return bare if "." in bare else host


@cache
def _suffixes() -> PublicSuffixList:
    """Return the bundled list, loaded at first use: most commands do not need it."""
    return PublicSuffixList(accept_unknown=True)


@lru_cache(maxsize=8_192)
def domain_of(host: str) -> str:
    """Return the registrable domain, the key of request spacing. Private suffixes count: `a.blogspot.com` is one."""
    if host[-1:].isdigit() or host.endswith("]"):
        with suppress(ValueError):
            return str(ip_address(host.strip("[]")))
    return str(_suffixes().privatesuffix(host) or host)


def is_covered(site: str, names: Collection[str]) -> bool:
    """Return True if a site or its registrable domain is among the names; a domain covers all its subdomains."""
    return bool(names) and (site in names or domain_of(site) in names)


def site_of_url(url: str) -> str:
    return site_of(host_of(url))


def url_key(url: str, identity: str = "") -> bytes:
    """Return the key of a page inside a job: 4 bytes of its site, then 8 bytes of the address.

    The site comes first so that a site's rows are stored together. `identity` distinguishes requests to one
    address.
    """
    site = blake2b(site_of_url(url).encode(), digest_size=4).digest()
    what = f"{url}\0{identity}" if identity else url
    return site + blake2b(what.encode(), digest_size=8).digest()


def shard_of(domain: str) -> int:
    """Return a number from 0 to 65,535 that assigns the visits of a domain to one process."""
    return int.from_bytes(blake2b(domain.encode(), digest_size=2).digest(), "big")


BINARY = frozenset({
    "7z", "aac", "apk", "atom", "avi", "avif", "bin", "bmp", "bz2", "cab", "css", "csv", "dat", "deb", "dmg", "doc",
    "docm", "docx", "dwg", "eot", "eps", "epub", "exe", "flac", "flv", "gif", "gz", "heic", "ico", "ics", "img",
    "indd", "iso", "jar", "jpe", "jpeg", "jpg", "key", "m4a", "m4v", "mid", "mjs", "mkv", "mobi",
    "mov", "mp3", "mp4", "mpeg", "mpg", "msi", "odp", "ods", "odt", "ogg", "ogv", "opus", "otf", "pdf", "pkg", "png",
    "pps", "ppsx", "ppt", "pptx", "ps", "psd", "rar", "rpm", "rss", "rtf", "svg", "svgz", "swf", "tar", "tgz", "tif",
    "tiff", "torrent", "ttf", "vcf", "wasm", "wav", "webm", "webmanifest", "webp", "wma", "wmv", "woff", "woff2",
    "xls", "xlsm", "xlsx", "xml", "xz", "zip", "zst",
})  # fmt: skip


def is_binary(url: str) -> bool:
    """Return True if a normalised URL has the extension of a file that is not a page."""
    _, dot, extension = url.partition("?")[0].rpartition(".")
    return bool(dot) and extension.lower() in BINARY


def spellings_of(text: str) -> tuple[str, ...]:
    """Return the normalised addresses a person may mean, most likely first; empty if it is not a web address."""
    written = text.strip()
    schemes = ("",) if "://" in written else ("https://", "http://")
    meant = [url for scheme in schemes if (url := normalise(scheme + written))]
    return tuple(dict.fromkeys([*meant, *(other for url in meant for other in _other_spellings(url))]))


def _other_spellings(url: str) -> list[str]:
    """Return the same URL with the other scheme and with or without `www`."""
    _, _, rest = url.partition("://")
    host = host_of(url)
    twin = site_of(host) if site_of(host) != host else f"www.{host}"
    rests = [rest, rest.replace(host, twin, 1)]
    return [f"{scheme}://{one}" for one in rests for scheme in ("https", "http")]
