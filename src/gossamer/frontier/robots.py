"""Rules of a site's robots.txt for us (RFC 9309), and the line that decides about an address.

The file is parsed here, as leniently as by large search engines, because parsers differ in the lines that apply to a
robot. Only the lines that apply to us are passed to Protego, which matches them against URLs. To find the deciding
line, the rules are evaluated with single lines changed.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from protego import Protego

# The name that site owners can use. The decision applies to every identity we use.
PRODUCT_TOKEN = "gossamer"  # noqa: S105 - a name
MOST_BYTES = 500 * 1024
LONGEST_DELAY = 60.0
MOST_SITEMAPS = 20

# Stored if there is no robots.txt to obey; 4xx means "crawl freely".
ABSENT = 404

# With common misspellings, and words that only begin like this. A line of more than two words without colon is prose.
_LINE = re.compile(
    r"(?:(?P<agent>user[ -]?agent)|(?P<disallow>dis{1,2}al{1,2}[oa]w|diasllow)|(?P<allow>allow)|(?P<sitemap>site-?map)"
    r"|(?P<delay>crawl[ -]?delay))[\w-]*+(?:[ \t]*:[ \t]*(?P<value>.*)|[ \t]+(?P<word>\S+))",
    re.IGNORECASE,
)
_LINE_END = re.compile(r"[\r\n]+")
_TOKEN = re.compile(r"[a-z_-]+|\*(?=\s|$)", re.IGNORECASE)
_SECONDS = re.compile(r"\d{1,9}(?:[.,]\d{1,9})?")
# Escaped ASCII characters, except those with a different meaning when unescaped: slash, star and per cent.
_ESCAPED_FOR_COMPARING = re.compile(r"%(?!2F|2A|25)[0-7][0-9A-F]")
# Characters that Protego treats as line ends, unlike the standard.
_NO_LINE_ENDS = {code: f"%{code:02X}" for code in (0x0B, 0x0C, 0x1C, 0x1D, 0x1E)} | {
    0x85: "%C2%85",
    0x2028: "%E2%80%A8",
    0x2029: "%E2%80%A9",
}


@dataclass(frozen=True, slots=True)
class RobotsRules:
    """The rules for one origin. `parsed` is None if there are none."""

    parsed: Protego | None = None
    delay: float = 0.0  # seconds between requests the site asks for
    named: tuple[str, ...] = ()
    forbids: bool = False  # False: nothing is forbidden, so URLs need not be matched

    def allow(self, url: str) -> bool:
        if self.parsed is None or not self.forbids:
            return True
        return bool(self.parsed.can_fetch(_with_slashes(url), PRODUCT_TOKEN))

    def sitemaps(self) -> tuple[str, ...]:
        """Return the sitemaps of the file in its order; they do not depend on the group."""
        return self.named


def says_later(status: int) -> bool:
    """Return True if the file may exist but is unavailable now: until it is read, nothing may be fetched."""
    return status >= 500 or status == 429


_NOTHING_FORBIDDEN = RobotsRules()


def read_rules(status: int, body: str) -> RobotsRules:
    """Return the rules of a response: a readable file is obeyed, other statuses forbid nothing."""
    return _parse(body) if 200 <= status < 300 and body else _NOTHING_FORBIDDEN


@dataclass(slots=True)
class _Group:
    """All rules for one robot, collected from all its groups."""

    rules: list[str] = field(default_factory=list)
    delay: float = 0.0


@lru_cache(maxsize=512)
def _parse(body: str) -> RobotsRules:
    groups: dict[str, _Group] = {}  # ours and the general one
    addressed: dict[str, _Group] = {}
    ruled = False  # the last agents have rules, so the next agent line begins a new group
    sitemaps: dict[str, None] = {}
    for key, value in _directives(body):
        match key:
            case "agent":
                if ruled:
                    addressed, ruled = {}, False
                token = _TOKEN.match(value)
                name = token[0].lower() if token else ""
                if name in (PRODUCT_TOKEN, "*"):
                    addressed[name] = groups.setdefault(name, _Group())
            case "sitemap":
                sitemaps[value] = None
            case "delay":
                for group in addressed.values():
                    group.delay = max(group.delay, _delay_of(value))
            case _:
                ruled = True
                for group in addressed.values():
                    group.rules.append(f"{key}: {_with_slashes(value.translate(_NO_LINE_ENDS))}")
    sitemaps.pop("", None)
    ours = groups.get(PRODUCT_TOKEN) or groups.get("*") or _Group()
    parsed = _compared_as_written(Protego.parse("\n".join(("user-agent: *", *ours.rules)))) if ours.rules else None
    forbids = any(rule.startswith("disallow: ") and rule != "disallow: " for rule in ours.rules)
    return RobotsRules(parsed, ours.delay, tuple(sitemaps)[:MOST_SITEMAPS], forbids)


def _compared_as_written(parsed: Protego) -> Protego:
    """Correct the length of each rule to that of the standard.

    Protego counts after escaping characters like `?` and `&`, so a rule with one would win against a longer one
    without. Other characters than ASCII are escaped by the standard too.
    """
    # There is no public interface for it; the version is pinned.
    for group in parsed._user_agents.values():
        for rule in group._rules:
            rule.value.priority = len(_ESCAPED_FOR_COMPARING.sub("?", rule.value._pattern))
        group.finalize_rules()
    return parsed


def _directives(body: str) -> list[tuple[str, str]]:
    """Return the known directives as key and value."""
    # Remains of another encoding's byte order mark.
    lines = _LINE_END.split(body.replace("\0", "").lstrip("\ufeff\ufffd"))
    if len(body.encode()) >= MOST_BYTES:
        lines.pop()  # the file was truncated here, and half a path is a different path
    found = []
    for line in lines:
        match = _LINE.fullmatch(line.partition("#")[0].strip(" \t"))
        if match is not None:
            key = next(name for name, text in match.groupdict().items() if text is not None)
            found.append((key, match["value"] or match["word"] or ""))
    return found


def _delay_of(value: str) -> float:
    seconds = _SECONDS.match(value)
    return min(float(seconds[0].replace(",", ".")), LONGEST_DELAY) if seconds else 0.0


def _with_slashes(address: str) -> str:
    """Unescape slashes in the query, where they mean the same; Protego treats them as different."""
    if "%2" not in address or "?" not in address:
        return address
    path, mark, query = address.partition("?")
    return path + mark + query.replace("%2F", "/").replace("%2f", "/")


_RULE_LINE_END = re.compile(r"\r\n|\r|\n")
_FOR_ALL = "User-agent: *"
_FORBIDS_NOTHING = "Disallow:"
_FORBIDS_ALL = "Disallow: /"


class RuleLine(NamedTuple):
    """A line of the file as written; the first has number 1."""

    number: int
    text: str


def deciding_line(body: str, url: str) -> RuleLine | None:
    """Return the line that allows or disallows a URL; None if no line matches, which allows it."""
    allowed = _allows(body, url)
    lines = _RULE_LINE_END.split(body)
    fitting = [at for at, line in enumerate(lines) if _fits(line, url, allowed)]
    if not fitting:
        return None
    # The other rules are replaced by neutral ones, so that the groups stay the same.
    silent = [_FORBIDS_NOTHING if _is_rule(line) else line for line in lines]
    # By precedence: the longest pattern, then the first. The first one that applies to us decides, so few are tried.
    for at in sorted(fitting, key=lambda at: (-_length(lines[at]), at)):
        if not _allows("\n".join([*silent[:at], _FORBIDS_ALL, *silent[at + 1 :]]), url):
            return RuleLine(at + 1, lines[at].strip())
    return None


def _fits(line: str, url: str, allowed: bool) -> bool:
    """Return True if the line alone leads to the same decision as the whole file."""
    if allowed:
        return _is_rule(line) and _allows(f"{_FOR_ALL}\n{_FORBIDS_ALL}\n{line}", url)
    return not _allows(f"{_FOR_ALL}\n{line}", url)


def _is_rule(line: str) -> bool:
    return read_rules(200, f"{_FOR_ALL}\n{line}").parsed is not None


def _allows(body: str, url: str) -> bool:
    return read_rules(200, body).allow(url)


def _length(line: str) -> int:
    return len(line.partition("#")[0].partition(":")[2].strip())
