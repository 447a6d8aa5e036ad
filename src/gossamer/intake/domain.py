"""Parse one entry of a list: to a host, or to the reason why it is not one."""

import re
from dataclasses import dataclass
from ipaddress import IPv6Address

from gossamer.model.job import Target
from gossamer.model.url import domain_of, host_of, normalise, site_of

MAX_NAME = 253
MAX_LABEL = 63

_AROUND = " \t\r\n\f\v\xa0\u200b\u2060\ufeff\"'`<>\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb"
_SPACE = re.compile(r"\s")
_REMARK = re.compile(r"\s#")
_MAIL = re.compile(r"(?:mailto:)?[^\s@/:]+@[^\s@/:]+", re.IGNORECASE)
_SCHEME = re.compile(r"(?:(https?):[/\\]*|([a-z][a-z0-9+.-]*):[/\\]{2}|[/\\]{2})", re.IGNORECASE)
_NO_COLON = re.compile(r"(https?)[/\\]+", re.IGNORECASE)
_AFTER_AUTHORITY = re.compile(r"[/\\?#]")
_PLAIN = re.compile(r"(?:[a-z0-9_-]{1,63}\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")
_LABEL = re.compile(r"[a-z0-9_-]+")
_TOP = re.compile(r"[a-z](?:[a-z0-9-]*[a-z0-9])?")
_NUMBERS = re.compile(r"[0-9]+(?:\.[0-9]+)*\.?")
_PORT = re.compile(r"[0-9]{1,5}")
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Domain:
    """A normalised host, with its `www`. `scheme` is "" and `port` None if not written."""

    host: str
    scheme: str = ""
    port: int | None = None


@dataclass(frozen=True, slots=True)
class BadEntry:
    """The reason why an entry names no site: the end of a sentence that begins with "it"."""

    why: str


def clean(text: str) -> str:
    """Remove spaces, quotes and comments around an entry."""
    text = text.strip(_AROUND)
    if "#" in text:
        text = _REMARK.split(text, maxsplit=1)[0].rstrip(_AROUND)
    return text


def read_domain(text: str) -> Domain | BadEntry:
    """Read a cleaned entry: a name, an address with or without scheme, path, port and user, or an IP address."""
    if _is_plain(text):
        return Domain(text)
    if _MAIL.fullmatch(text):
        return BadEntry("looks like an e-mail address")
    read = _split_scheme(text)
    if isinstance(read, BadEntry):
        return read
    scheme, rest = read
    authority = _AFTER_AUTHORITY.split(rest, maxsplit=1)[0].rpartition("@")[2]
    if not authority or _SPACE.search(authority):
        return BadEntry("has a space in it" if authority else "has no name in it")
    return _read_authority(authority, scheme)


def _split_scheme(text: str) -> tuple[str, str] | BadEntry:
    """Split off the scheme, if there is one."""
    if written := _SCHEME.match(text):
        if written[2]:
            return BadEntry(f"begins with {written[2].lower()}:// instead of http:// or https://")
        return (written[1] or "").lower(), text[written.end() :]
    if forgotten := _NO_COLON.match(text):
        return BadEntry(f"has no colon after {forgotten[1].lower()}")
    return "", text


def target_of(domain: Domain, given: str) -> Target:
    """Return the site of a domain and its entries: first as written, then the usual addresses."""
    site = site_of(domain.host)
    hosts = [site]
    if not is_address(site) and (_is_registrable(site) or domain.host != site):
        hosts.append(f"www.{site}")
    usual = [f"{scheme}://{host}/" for host in hosts for scheme in ("https", "http")]
    return Target(host=site, entries=tuple(dict.fromkeys([*_written(domain), *usual])), given=given)


def _is_registrable(site: str) -> bool:
    # A name with a single dot needs no lookup, and most names have one.
    return site.count(".") == 1 or domain_of(site) == site


def is_address(host: str) -> bool:
    """Return True if a normalised host is an IP address."""
    return host.startswith("[") or _NUMBERS.fullmatch(host) is not None


def _written(domain: Domain) -> list[str]:
    """Return the homepages with the scheme or port as written, if there is one."""
    schemes = [domain.scheme] if domain.scheme else ["https", "http"] if domain.port else []
    if not domain.scheme:
        # A bare "name:80" can only mean one of the two.
        schemes = [scheme for scheme in schemes if domain.port == _DEFAULT_PORTS[scheme]] or schemes
    homepages = []
    for scheme in schemes:
        port = f":{domain.port}" if domain.port and domain.port != _DEFAULT_PORTS[scheme] else ""
        homepages.append(f"{scheme}://{domain.host}{port}/")
    return homepages


def _read_authority(authority: str, scheme: str) -> Domain | BadEntry:
    host, port = _split_port(authority)
    if port and not (_PORT.fullmatch(port) and 0 < int(port) < 65_536):
        return BadEntry("has an impossible port")
    name = host.lower()
    if not _is_plain(name):
        read = _read_host(host)
        if isinstance(read, BadEntry):
            return read
        name = read
    return Domain(name, scheme, int(port) if port else None)


def _is_plain(name: str) -> bool:
    """Return True for names that are already normalised, which most entries are."""
    return _PLAIN.fullmatch(name) is not None and len(name) <= MAX_NAME and "xn--" not in name


def _read_host(host: str) -> str | BadEntry:
    if host.startswith("[") and not host.endswith("]"):
        return BadEntry("has a bracket that is not closed")
    if len(host) > 4 * MAX_NAME:
        return BadEntry(f"is longer than {MAX_NAME} characters")
    url = normalise(f"http://{host}/")
    if url is None:
        return BadEntry(
            "looks like an IP address but is none" if _NUMBERS.fullmatch(host) else "has characters no domain can have"
        )
    name = host_of(url).rstrip(".")
    return _objection(name, host) or name


def _split_port(authority: str) -> tuple[str, str]:
    if authority.startswith("["):
        inside, bracket, after = authority.partition("]")
        # Anything else after the bracket stays in the host, which is then refused.
        return (inside + bracket, after[1:]) if after.startswith(":") else (authority, "")
    if authority.count(":") > 1:
        try:
            return f"[{IPv6Address(authority)}]", ""
        except ValueError:
            pass  # the last colon is treated as that of a port
    host, _, port = authority.rpartition(":") if ":" in authority else (authority, "", "")
    return host, port


def _objection(name: str, written: str) -> BadEntry | None:
    """Return the reason against a normalised host.

    Underscores and odd hyphens are accepted, because browsers open such names too.
    """
    if name.startswith("["):
        return None
    if is_address(name):
        # Browsers read "1.5" as 1.0.0.5; in a list it is a number from another column.
        return None if name.count(".") == 3 and name == written.rstrip(".") else BadEntry("is a number")
    if "." not in name:
        return BadEntry("has no dot, so it is not a name on the web")
    labels = name.split(".")
    if "" in labels:
        return BadEntry("has a dot too many")
    if len(name) > MAX_NAME:
        return BadEntry(f"is longer than {MAX_NAME} characters")
    return _label_objection(labels)


def _label_objection(labels: list[str]) -> BadEntry | None:
    for label in labels:
        if not _LABEL.fullmatch(label):
            return BadEntry("has characters no domain can have")
        if len(label) > MAX_LABEL:
            return BadEntry(f"has a part longer than {MAX_LABEL} characters")
        if label.startswith("xn--") and not _is_punycode(label[4:]):
            return BadEntry(f"has broken punycode in it ({label[:20]})")
    if not _TOP.fullmatch(labels[-1]):
        return BadEntry("does not end like a domain")
    return None


def _is_punycode(tail: str) -> bool:
    try:
        return not tail.encode("ascii").decode("punycode").isascii()
    except UnicodeError:
        return False
