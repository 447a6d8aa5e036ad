"""Our text of real pages against what a real browser shows of them: every word of which the two differ, and why.

Some hundred pages of documentation packages are opened in Chromium, scripts switched off, and its `innerText` is held
against the text of our parser, word by word. Each word of a page could be somebody's keyword, so all of them are
compared, with how often they stand there. The browser also says where each word stands and whether it is shown, from
which the cause of a difference is found.

`python -m bench.browser_text` writes all differences to bench/out/browser-text.csv, one line for each word of a page.
"""

import argparse
import csv
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from bench.corpus import EMPTY_WITHOUT_SCRIPTS, PACKAGES, install
from bench.figure import BenchFailed, Figure
from bench.running import ROOT
from gossamer.judge import find_flaw
from gossamer.model.fetching import Response
from gossamer.model.trouble import Trouble
from gossamer.parse import parse_document
from gossamer.parse.text import tidy

LISTED = ROOT / "bench" / "out" / "browser-text.csv"
LEAST = 300  # pages
_MORE_PACKAGES = (
    "apache2-doc", "cmake-doc", "debian-faq", "debian-policy", "developers-reference", "git-doc", "libxml2-doc",
    "nodejs-doc", "postfix-doc", "r-doc-html",
)  # fmt: skip
_OF_EACH, _FEW_OF_EACH = 40, 4
_SMALLEST, _LARGEST = 1_000, 1_000_000  # bytes of a page

_BROWSERS = ("chromium-headless-shell", "chromium")
_SWITCHES = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--remote-debugging-port=0", "--host-resolver-rules=MAP * ~NOTFOUND", "--window-size=1600,1200"),
)
_PATIENCE = 30.0  # seconds for anything the browser is asked

# What is shown, and every text with where it stands: the tags above it, and whether it takes up any room.
_LOOK = """(() => {
  const style = document.createElement("style");
  // What a page leaves undrawn until somebody scrolls there is shown all the same.
  style.textContent = "* { content-visibility: visible !important }";
  document.documentElement.append(style);
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  const texts = [];
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    if (!node.data.trim()) continue;
    const above = [];
    for (let each = node.parentElement; each && each !== document.body; each = each.parentElement)
      above.push(each.localName);
    range.selectNodeContents(node);
    const box = getComputedStyle(node.parentElement);
    const drawn = range.getClientRects().length > 0 && box.visibility === "visible";
    const details = node.parentElement.closest("details:not([open])");
    const shown = drawn && (!details || details.querySelector(":scope > summary")?.contains(node));
    texts.push([node.data, above, shown]);
  }
  return {shown: document.body.innerText, texts: texts};
})()"""

_WORD = re.compile(r"\w+")
_WORD_AT_THE_END = re.compile(r"\w+\Z")
_LISTS = frozenset({"ul", "ol", "menu", "dir"})
_RAISED = re.compile("[⁰¹²³⁴-⁹]+")

IN_A_LIST = "text in a list, outside of its items"
GLUED_LINKS = "neighbouring links or buttons glued together"
PARTED_LINKS = "neighbouring links, which the browser shows as one word"
PARTED = "parted for us by an image, a field, a button or a block in a line"
UNEXPLAINED = "unexplained"


@dataclass(frozen=True, slots=True)
class Difference:
    """A word that stands on a page more often for one of the two."""

    page: Path
    word: str
    browser: int
    ours: int
    cause: str


@dataclass(frozen=True, slots=True)
class Shown:
    """A page in the browser."""

    text: str
    texts: list[tuple[str, list[str], bool]]


class Browser:
    """A page of Chromium, driven by its own protocol."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._asked = 0
        self._ask("Page.enable")
        self._ask("Emulation.setScriptExecutionDisabled", value=True)

    def look(self, page: Path) -> Shown:
        self._ask("Page.navigate", url=page.as_uri())
        self._hear(lambda said: said.get("method") == "Page.loadEventFired")
        answer = self._ask("Runtime.evaluate", expression=_LOOK, returnByValue=True)
        seen = answer["result"]["value"]
        return Shown(seen["shown"], [(text, above, shown) for text, above, shown in seen["texts"]])

    def _ask(self, method: str, **parameters: Any) -> Any:
        self._asked += 1
        number = self._asked
        self._connection.send(json.dumps({"id": number, "method": method, "params": parameters}))
        said = self._hear(lambda said: said.get("id") == number)
        if "error" in said or "exceptionDetails" in said["result"]:
            raise BenchFailed(f"the browser refused {method}: {json.dumps(said)[:300]}")
        return said["result"]

    def _hear(self, is_meant: Any) -> Any:
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                said = json.loads(self._connection.recv(timeout=max(0.0, until - time.monotonic())))
            except (TimeoutError, WebSocketException) as error:
                raise BenchFailed(f"the browser does not answer: {error!r}") from error
            if is_meant(said):
                return said


@contextmanager
def browser() -> Iterator[Browser]:
    """Debian's Chromium, installed if there is none."""
    program = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if program is None:
        install([_BROWSERS[0]])
        program = _BROWSERS[0]
    with tempfile.TemporaryDirectory(prefix="gossamer-browser-", ignore_cleanup_errors=True) as profile:
        command = [program, *_SWITCHES, f"--user-data-dir={profile}", "about:blank"]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            with connect(_address_of_a_page(process), max_size=1 << 28) as connection:
                yield Browser(connection)
        finally:
            process.kill()
            process.wait()


def _address_of_a_page(process: "subprocess.Popen[bytes]") -> str:
    """Of a new page: the browser says on its error stream where it listens."""
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(rb"ws://([^/]+)/devtools/browser/\S+", line):
            with connect(found[0].decode()) as connection:
                connection.send(
                    json.dumps({"id": 1, "method": "Target.createTarget", "params": {"url": "about:blank"}})
                )
                while (said := json.loads(connection.recv(timeout=_PATIENCE))).get("id") != 1:
                    pass
            return f"ws://{found[1].decode()}/devtools/page/{said['result']['targetId']}"
    raise BenchFailed("the browser ended before it could be asked anything")


def measure(folder: Path, quick: bool) -> list[Figure]:
    pages = _pages(_FEW_OF_EACH if quick else _OF_EACH)
    differences, words, troubles = compare(pages)
    write(differences, folder / "differences.csv")
    return _figures(len(pages), words, differences, troubles, quick=quick)


def _figures(
    pages: int, words: int, differences: list[Difference], troubles: list[str], *, quick: bool
) -> list[Figure]:
    causes = Counter(difference.cause for difference in differences)
    told = "; ".join(f"{number:,} {cause}" for cause, number in causes.most_common())
    return [
        Figure("pages", "pages looked at in a real browser", pages, "", least=None if quick else LEAST),
        Figure("words", "different words on them, counted by page", words, ""),
        Figure("differences", "words that stand there more often for one of the two", len(differences), "", note=told),
        Figure("in_lists", f"of them {IN_A_LIST}", causes[IN_A_LIST], "", 0),
        Figure("glued", f"of them {GLUED_LINKS}", causes[GLUED_LINKS], "", 0),
        Figure("unexplained", "of them for no known cause", causes[UNEXPLAINED], ""),
        Figure("troubles", "good pages taken for bad ones", len(troubles), "", 0, note="; ".join(troubles)[:500]),
    ]


def _pages(of_each: int) -> list[Path]:
    """Evenly from each package."""
    names = (*(package.name for package in PACKAGES), *_MORE_PACKAGES)
    install([name for name in names if not _files_of(name)])
    chosen: list[Path] = []
    for name in names:
        files = _files_of(name)
        if not files:
            raise BenchFailed(f"{name} has no pages")
        chosen += files[:: -(-len(files) // of_each)]
    return chosen


def _files_of(package: str) -> list[Path]:
    listed = subprocess.run(["dpkg", "-L", package], capture_output=True, text=True, check=False).stdout
    files = [Path(line) for line in listed.splitlines() if line.endswith((".html", ".htm"))]
    return [
        path
        for path in files
        if path.is_file() and path.name != EMPTY_WITHOUT_SCRIPTS and _SMALLEST <= path.stat().st_size <= _LARGEST
    ]


def compare(pages: Sequence[Path]) -> tuple[list[Difference], int, list[str]]:
    """All differences, how many words were compared, and the pages our judge would have thrown away."""
    differences: list[Difference] = []
    troubles: list[str] = []
    words = 0
    with browser() as chromium:
        for page in pages:
            seen = chromium.look(page)
            url = f"https://docs.example{page}"
            headers = {"content-type": "text/html"}
            read = parse_document(Response(url, url, 200, headers, page.read_bytes(), "direct", datetime.now(UTC)))
            if isinstance(read, Trouble) or (flaw := find_flaw(read)) is not None:
                trouble = read if isinstance(read, Trouble) else flaw
                troubles.append(f"{page}: {trouble}")
            text = "" if isinstance(read, Trouble) else read.text
            differences += differences_of(page, seen, text)
            words += len(_words(seen.text))
    return differences, words, troubles


def differences_of(page: Path, seen: Shown, text: str) -> list[Difference]:
    theirs, ours = _words(seen.text), _words(text)
    differing = [word for word in theirs | ours if theirs[word] != ours[word]]
    unlike = {word: theirs[word] - ours[word] for word in differing}
    causes = _Causes(unlike, seen)
    return [Difference(page, word, theirs[word], ours[word], causes.of(word)) for word in sorted(differing)]


def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(tidy(text).casefold()))


@dataclass(frozen=True, slots=True)
class _Seam:
    """Two texts that follow each other with no space between them."""

    first: str
    second: str
    above: list[str]
    below: list[str]

    @property
    def of_links(self) -> bool:
        return bool({"a", "button"} & set(self.above) and {"a", "button"} & set(self.below))


class _Causes:
    """Why the words of a page differ. `unlike` has how much more often the browser shows each."""

    def __init__(self, unlike: dict[str, int], seen: Shown) -> None:
        self._unlike = unlike
        self._holding: dict[str, list[tuple[list[str], bool, int]]] = {word: [] for word in unlike}
        for text, above, shown in seen.texts:
            words = _words(text)
            for word in words.keys() & unlike.keys():
                self._holding[word].append((above, shown, words[word]))
        self._seams = _seams([(text, above) for text, above, shown in seen.texts if shown])
        self._unseen = _seams([(text, above) for text, above, shown in seen.texts if not shown])
        raised = [word for word in unlike if _RAISED.search(word)]
        self._raised = {part for word in raised for part in _WORD.findall(_lowered(word))}

    def of(self, word: str) -> str:
        if _RAISED.search(word) or word in self._raised:
            return "the raised number of a footnote"
        holding = self._holding[word]
        if self._unlike[word] < 0:
            hidden = [(above, times) for above, shown, times in holding if not shown]
            if sum(times for _, times in hidden) >= -self._unlike[word]:
                return _cause_of_hiding(hidden[0][0])
        elif any("noscript" in above for above, _, _ in holding):
            return "only for browsers without scripts"
        glue = self._cause_of_glue(word)
        if glue == UNEXPLAINED and word in self._unseen:
            return _cause_of_hiding(self._unseen[word][0].above)
        if (
            glue == UNEXPLAINED
            and self._unlike[word] > 0
            and any(_is_loose(above) for above, shown, _ in holding if shown)
        ):
            return IN_A_LIST
        return glue

    def _cause_of_glue(self, word: str) -> str:
        """Words that are one for one of the two and two for the other: which elements stand between them?"""
        wholes = [word, *(other for other in self._unlike if word in other and other != word)]
        for whole in wholes:
            for seam in self._seams.get(whole, ()):
                if word in (whole, seam.first, seam.second):
                    if self._unlike[whole] < 0:
                        return GLUED_LINKS if seam.of_links else UNEXPLAINED
                    return PARTED_LINKS if seam.of_links else PARTED
        return UNEXPLAINED


def _lowered(word: str) -> str:
    """A word with a raised number as the browser shows it: with the number at its end, or beside it."""
    return unicodedata.normalize("NFKC", f"{word} {_RAISED.sub(lambda raised: f' {raised[0]}', word)}")


def _cause_of_hiding(above: list[str]) -> str:
    if "details" in above:
        return "in a closed <details>"
    return "in a form's field" if {"textarea", "option", "select"} & set(above) else "hidden by a style sheet"


def _is_loose(above: list[str]) -> bool:
    """Whether a text stands in a list without standing in an item that is a child of it."""
    return any(tag in _LISTS and (at == 0 or above[at - 1] != "li") for at, tag in enumerate(above))


def _seams(texts: list[tuple[str, list[str]]]) -> dict[str, list[_Seam]]:
    """By the word that the end of a text and the beginning of the next would make together."""
    plain = [(tidy(text).casefold(), above) for text, above in texts]
    found: dict[str, list[_Seam]] = {}
    for (first, above), (second, below) in pairwise(plain):
        end, begin = _WORD_AT_THE_END.search(first[-100:]), _WORD.match(second[:100])
        if end and begin:
            found.setdefault(end[0] + begin[0], []).append(_Seam(end[0], begin[0], above, below))
    return found


def write(differences: Sequence[Difference], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(("cause", "word", "browser", "ours", "page"))
        for each in sorted(differences, key=lambda each: (each.cause, str(each.page))):
            table.writerow((each.cause, each.word, each.browser, each.ours, each.page))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.browser_text", description=__doc__.partition("\n")[0])
    parser.add_argument("pages", nargs="*", type=Path, help="HTML files; without any, those of documentation packages")
    parser.add_argument("--out", type=Path, default=LISTED, help="the table of all differences")
    options = parser.parse_args()
    pages = [page.absolute() for page in options.pages] or _pages(_OF_EACH)
    differences, words, troubles = compare(pages)
    write(differences, options.out)
    figures = _figures(len(pages), words, differences, troubles, quick=bool(options.pages))
    for figure in figures:
        print(f"{figure.name:<12} {figure.value:>10,.0f}  {figure.meaning}{'' if figure.ok else '  MISSED'}")
    for cause, number in Counter(difference.cause for difference in differences).most_common():
        print(f"{number:>8,}  {cause}")
    print(*troubles, sep="\n")
    print(options.out)
    return 0 if all(figure.ok for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
