"""Rules of a site's robots.txt for us (RFC 9309), and the line that decides about an address.

The file is read here, line by line and as leniently as the large search engines read it, because which lines are ours
is where parsers differ. Only those are handed to Protego, which compares them with addresses.

Nothing is compared here: lines are given to the rules one at a time, and what they answer tells what each line does.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from protego import Protego

# The name site owners can address. The same decision holds for every identity we show.
PRODUCT_TOKEN = "gossamer"  # noqa: S105 - a name
MOST_BYTES = 500 * 1024
LONGEST_DELAY = 60.0
MOST_SITEMAPS = 20

# What is kept when there is no robots.txt to obey; 4xx means "crawl freely".
ABSENT = 404

# Common misspellings included, and words that only begin so. Without a colon, a line of more than two words is prose.
_LINE = re.compile(
    r"(?:(?P<agent>user[ -]?agent)|(?P<disallow>dis{1,2}al{1,2}[oa]w|diasllow)|(?P<allow>allow)|(?P<sitemap>site-?map)"
    r"|(?P<delay>crawl[ -]?delay))[\w-]*+(?:[ \t]*:[ \t]*(?P<value>.*)|[ \t]+(?P<word>\S+))",
    re.IGNORECASE,
)
_LINE_END = re.compile(r"[\r\n]+")
_TOKEN = re.compile(r"[a-z_-]+|\*(?=\s|$)", re.IGNORECASE)
_SECONDS = re.compile(r"\d{1,9}(?:[.,]\d{1,9})?")
# Any character of ASCII but those that mean something else when they are not escaped: slash, star and per cent.
_ESCAPED_FOR_COMPARING = re.compile(r"%(?!2F|2A|25)[0-7][0-9A-F]")
# What Protego would take for the end of a line, and the standard does not.
_NO_LINE_ENDS = {code: f"%{code:02X}" for code in (0x0B, 0x0C, 0x1C, 0x1D, 0x1E)} | {
    0x85: "%C2%85",
    0x2028: "%E2%80%A8",
    0x2029: "%E2%80%A9",
}


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules for one origin. `parsed` is None where there are none."""

    parsed: Protego | None = None
    delay: float = 0.0  # seconds between requests the site asks for
    named: tuple[str, ...] = ()
    forbids: bool = False  # anything at all: where nothing is, addresses need not be compared with every line

    def allow(self, url: str) -> bool:
        if self.parsed is None or not self.forbids:
            return True
        return bool(self.parsed.can_fetch(_with_slashes(url), PRODUCT_TOKEN))

    def sitemaps(self) -> tuple[str, ...]:
        """The sitemaps the file names, as written and in its order. They are for everyone, whatever the group."""
        return self.named


def says_later(status: int) -> bool:
    """The file may be there, but cannot be had now: nothing may be fetched until it can."""
    return status >= 500 or status == 429


_NOTHING_FORBIDDEN = Rules()


def read_rules(status: int, body: str) -> Rules:
    """Rules from an answer: a readable file is obeyed, any other answer that is not "later" forbids nothing."""
    return _parse(body) if 200 <= status < 300 and body else _NOTHING_FORBIDDEN


@dataclass(slots=True)
class _Group:
    """All that is said to one robot, in however many places."""

    rules: list[str] = field(default_factory=list)
    delay: float = 0.0


@lru_cache(maxsize=512)
def _parse(body: str) -> Rules:
    groups: dict[str, _Group] = {}  # ours and everyone's; what others are told is nothing to us
    addressed: dict[str, _Group] = {}
    ruled = False  # whether the agents named last have been told something, so that the next one begins a new group
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
    return Rules(parsed, ours.delay, tuple(sitemaps)[:MOST_SITEMAPS], forbids)


def _compared_as_written(parsed: Protego) -> Protego:
    """The same rules with the length of each as the standard counts it.

    Protego escapes characters like `?` and `&` before it counts, so that a rule with one would win against a longer one
    without. What is not ASCII is escaped by the standard, too.
    """
    # It has no public way to say so; its versions are pinned.
    for group in parsed._user_agents.values():
        for rule in group._rules:
            rule.value.priority = len(_ESCAPED_FOR_COMPARING.sub("?", rule.value._pattern))
        group.finalize_rules()
    return parsed


def _directives(body: str) -> list[tuple[str, str]]:
    """The lines that say something, as key and value. Unknown lines are as if they were not there."""
    # What the mark of another encoding leaves behind when it is read as UTF-8.
    lines = _LINE_END.split(body.replace("\0", "").lstrip("\ufeff\ufffd"))
    if len(body.encode()) >= MOST_BYTES:
        lines.pop()  # the file was cut here, and half a path is another path
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
    """In a query an escaped slash is a slash, though in a path it is not; Protego holds both for different."""
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
    """The line that allows or disallows an address; None where no line speaks of it, which allows it."""
    allowed = _allows(body, url)
    lines = _RULE_LINE_END.split(body)
    fitting = [at for at, line in enumerate(lines) if _fits(line, url, allowed)]
    if not fitting:
        return None
    # Without their meaning but in their places, the other rules still say where one robot's lines end.
    silent = [_FORBIDS_NOTHING if _is_rule(line) else line for line in lines]
    # The longest pattern is the most specific, and of two alike the first. The first one that counts for us decides,
    # so hardly ever are all of them tried.
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
