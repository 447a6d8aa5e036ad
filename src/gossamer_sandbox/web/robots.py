"""The robots.txt of a sample site: what is sent, and what it means for the crawler.

The meaning of each text is written by hand next to it, so that it does not depend on the parser under test.
Matching follows RFC 9309: the longest pattern wins, Allow wins a tie; a refused file (4xx) forbids nothing,
an unavailable file (5xx) forbids everything.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Rule:
    allow: bool
    pattern: str


@dataclass(frozen=True, slots=True)
class RobotsFile:
    """One robots.txt. `bait`: pages that exist, are linked and are forbidden; `beside`: pages just allowed."""

    variant: str
    text: str = ""
    status: int = 200
    content_type: str = "text/plain; charset=utf-8"
    moved_to: str = ""
    rules: tuple[Rule, ...] = ()
    bait: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    crawl_delay: float = 0.0
    padding: int = 0  # bytes of comments after the text
    readable: bool = True  # a Sitemap line in it would be read

    @property
    def unreachable(self) -> bool:
        return self.status >= 500

    @property
    def body(self) -> bytes:
        comment = b"# every line from here on is only a remark about the weather\n"
        return self.text.encode() + comment * -(-self.padding // len(comment))

    def allows(self, path: str) -> bool:
        return allows(self.rules, path)

    def naming(self, sitemap: str) -> "RobotsFile":
        """The same file with a Sitemap line at its end."""
        end = "\r\n" if "\r\n" in self.text else "\n"
        return replace(self, text=f"{self.text}{end}Sitemap: {sitemap}{end}")


@lru_cache(maxsize=4096)
def _matcher(pattern: str) -> re.Pattern[str]:
    parts = [re.escape(part) for part in pattern.removesuffix("$").split("*")]
    return re.compile(".*".join(parts) + (r"\Z" if pattern.endswith("$") else ""), re.DOTALL)


def allows(rules: Iterable[Rule], path: str) -> bool:
    """Return True if the rules allow a path with its query."""
    if path == "/robots.txt":
        return True
    matching = [rule for rule in rules if _matcher(rule.pattern).match(path)]
    return not matching or max(matching, key=lambda rule: (len(rule.pattern), rule.allow)).allow


_PRIVATE = ("/private/ledger", "/private/notes/first")
_FOLDER = (Rule(False, "/private/"),)
_FOLDER_TEXT = "User-agent: *\nDisallow: /private/\n"
_HTML = (
    "<!doctype html><html><head><title>Welcome</title></head>\n<body><h1>Welcome</h1>\n"
    "<p>This page answers for whatever it is asked.</p></body></html>\n"
)

_FILES = (
    RobotsFile("missing", "<h1>Not Found</h1>", 404, "text/html", beside=_PRIVATE, readable=False),
    RobotsFile("empty", beside=_PRIVATE, readable=False),
    RobotsFile("allow-all", "User-agent: *\nDisallow:\n", beside=_PRIVATE),
    RobotsFile("folder", _FOLDER_TEXT, rules=_FOLDER, bait=_PRIVATE, beside=("/private",)),
    RobotsFile(
        "wildcard",
        "User-agent: *\nDisallow: /*-secret\nDisallow: /*.php$\nDisallow: /*?print=\n",
        rules=(Rule(False, "/*-secret"), Rule(False, "/*.php$"), Rule(False, "/*?print=")),
        bait=("/team-secret/plan", "/old/form.php", "/story?print=1"),
        beside=("/secret-garden", "/old/form.php/again", "/story?page=2"),
    ),
    RobotsFile(
        "exception",
        "User-agent: *\nDisallow: /private/\nAllow: /private/open\nDisallow: /private/open/not\n",
        rules=(*_FOLDER, Rule(True, "/private/open"), Rule(False, "/private/open/not")),
        bait=(*_PRIVATE, "/private/open/not/here"),
        beside=("/private/open/house",),
    ),
    RobotsFile(
        "tie",
        "User-agent: *\nDisallow: /private/\nAllow: /private/\n",
        rules=(*_FOLDER, Rule(True, "/private/")),
        beside=_PRIVATE,
    ),
    RobotsFile(
        "query",
        "User-agent: *\nDisallow: /*?\nDisallow: /*&print\nAllow: /q/\nAllow: /open/?view=\n",
        rules=(Rule(False, "/*?"), Rule(False, "/*&print"), Rule(True, "/q/"), Rule(True, "/open/?view=")),
        bait=("/story?page=2", "/q/?a=1&print=1", "/open/?page=2"),
        beside=("/q/?page=2", "/open/?view=1"),
    ),
    RobotsFile(
        "own-stricter",
        "User-agent: *\nDisallow:\n\nUser-agent: gossamer\nDisallow: /private/\n",
        rules=_FOLDER,
        bait=_PRIVATE,
    ),
    RobotsFile(
        "own-looser",
        "User-agent: *\nDisallow: /\n\nUser-agent: gossamer\nDisallow: /private/\n",
        rules=_FOLDER,
        bait=_PRIVATE,
    ),
    RobotsFile(
        "many-agents",
        "User-agent: alphabot\nUser-agent: Gossamer\nUser-agent: betabot\nDisallow: /private/\n\n"
        "User-agent: *\nDisallow: /\n",
        rules=_FOLDER,
        bait=_PRIVATE,
    ),
    RobotsFile(
        "two-groups",
        "User-agent: *\nDisallow: /drafts/\n\nUser-agent: alphabot\nDisallow: /\n\n"
        "User-agent: *\nDisallow: /private/\n",
        rules=(*_FOLDER, Rule(False, "/drafts/")),
        bait=(*_PRIVATE, "/drafts/one"),
    ),
    RobotsFile(
        "odd",
        "\ufeff# written in a hurry\r\n\r\nUSER-AGENT : *   # everyone\r\nX-Unknown: yes\r\n\r\n"
        "  disallow:/private/ # keep out\r\nDisAllow:   /drafts/\r\n",
        rules=(*_FOLDER, Rule(False, "/drafts/")),
        bait=(*_PRIVATE, "/drafts/one"),
    ),
    RobotsFile(
        "shy",
        "User-agent: *\nDisallow: /sitemap\nDisallow: /feed.xml\n",
        rules=(Rule(False, "/sitemap"), Rule(False, "/feed.xml")),
        beside=_PRIVATE,
    ),
    RobotsFile("delay-1", f"{_FOLDER_TEXT}Crawl-delay: 1\n", rules=_FOLDER, bait=_PRIVATE, crawl_delay=1),
    RobotsFile("delay-1.5", f"{_FOLDER_TEXT}Crawl-delay: 1.5\n", rules=_FOLDER, bait=_PRIVATE, crawl_delay=1.5),
    RobotsFile("delay-2", f"{_FOLDER_TEXT}crawl-delay: 2\n", rules=_FOLDER, bait=_PRIVATE, crawl_delay=2),
    RobotsFile("moved", _FOLDER_TEXT, moved_to="/static/robots-rules.txt", rules=_FOLDER, bait=_PRIVATE),
    RobotsFile("html", _HTML, 200, "text/html; charset=utf-8", beside=_PRIVATE, readable=False),
    RobotsFile("large", _FOLDER_TEXT, rules=_FOLDER, bait=_PRIVATE, padding=600_000),
    RobotsFile("unauthorised", "who are you?", 401, "text/plain", beside=_PRIVATE, readable=False),
    RobotsFile("forbidden", "go away", 403, "text/plain", beside=_PRIVATE, readable=False),
    RobotsFile("nothing", "User-agent: *\nDisallow: /\n", rules=(Rule(False, "/"),), bait=_PRIVATE, readable=False),
    RobotsFile("broken", "", 500, "text/plain", rules=(Rule(False, "/"),), bait=_PRIVATE, readable=False),
    RobotsFile("away", "", 503, "text/plain", rules=(Rule(False, "/"),), bait=_PRIVATE, readable=False),
)

ROBOTS: Mapping[str, RobotsFile] = {file.variant: file for file in _FILES}

CLOSED = ("nothing", "broken", "away")
"""Files that shut the whole site; sites get them as a quirk, never by chance."""

_RARE = ("delay-1", "delay-1.5", "delay-2", "large")
_COMMON = tuple(name for name in ROBOTS if name not in (*CLOSED, *_RARE))

# The rare ones together are about one site in thirty: a delay or half a megabyte would weigh on every benchmark.
USUAL: tuple[str, ...] = (*_COMMON * 7, *_RARE)
