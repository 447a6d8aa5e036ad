"""What every peer is given, and what it counts. Runs in the peers' environments, so it knows no module but these."""

import re
import sys
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import orjson
from ahocorasick_rs import AhoCorasick, Implementation

# What a visitor reads, as those who use selectors ask for it.
VISIBLE_TEXT = "//body//text()[not(parent::script or parent::style or parent::template or parent::noscript)]"

_WORD = re.compile(r"\w")


class Task:
    """The hosts to read, where the server is, and the keywords: from the file named on the command line."""

    def __init__(self) -> None:
        task = orjson.loads(Path(sys.argv[1]).read_bytes())
        self.hosts: list[str] = task["hosts"]
        self.port: int = task["port"]
        self.counter = KeywordCounter(task["keywords"])


class KeywordCounter:
    """Whole words in any case, by the automaton gossamer uses too: the matcher is not what is compared."""

    def __init__(self, keywords: list[str]) -> None:
        self._keywords = keywords
        self._automaton = AhoCorasick([keyword.lower() for keyword in keywords], implementation=Implementation.DFA)

    def count(self, text: str) -> dict[str, int]:
        text = text.lower()
        counts: dict[str, int] = {}
        for index, start, end in self._automaton.find_matches_as_indexes(text, overlapping=True):
            if _stands_alone(text, start, end):
                keyword = self._keywords[index]
                counts[keyword] = counts.get(keyword, 0) + 1
        return counts


class Totals:
    """What has been read so far; told at the end."""

    def __init__(self) -> None:
        self.pages = self.links = self.matches = self.titles = 0

    def add(self, links: int, title: str, counts: dict[str, int]) -> None:
        self.pages += 1
        self.links += links
        self.titles += bool(title)
        self.matches += len(counts)

    def tell(self) -> None:
        sys.stdout.write(orjson.dumps(vars(self)).decode() + "\n")


def absolute(hrefs: list[str], base: str) -> set[str]:
    """Addresses of http(s) links, each once: fragments are cut before joining, since joining is what costs."""
    bare = {href.partition("#")[0] for href in hrefs}
    joined = {urljoin(base, href) for href in bare if href}
    return {url for url in joined if url.startswith(("http://", "https://"))}


def host_of(url: str) -> str:
    return urlsplit(url).netloc


def _stands_alone(text: str, start: int, end: int) -> bool:
    before = start > 0 and _WORD.match(text, start - 1) and _WORD.match(text, start)
    after = end < len(text) and _WORD.match(text, end) and _WORD.match(text, end - 1)
    return not before and not after
