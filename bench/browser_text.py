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
from typing import Any, NamedTuple

from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from bench.corpus import EMPTY_WITHOUT_SCRIPTS, PACKAGES, install
from bench.figure import BenchFailed, Figure
from bench.running import ROOT
from gossamer.judge import find_flaw
from gossamer.model.document import Response
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

# What is shown, and every text with where it stands: the tags above it, whether it takes up any room, the number of the
# link or button it stands in, and whether that is a single letter.
_LOOK = """(() => {
  const style = document.createElement("style");
  // What a page leaves undrawn until somebody scrolls there is shown all the same.
  style.textContent = "* { content-visibility: visible !important }";
  document.documentElement.append(style);
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  const links = [...document.querySelectorAll("a,button")];
  const numbers = new Map(links.map((link, at) => [link, at + 1]));
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
    const link = node.parentElement.closest("a,button");
    const letter = link !== null && /^\\p{L}$/u.test(link.textContent.trim());
    texts.push([node.data, above, Boolean(shown), link ? numbers.get(link) : 0, letter]);
  }
  return {shown: document.body.innerText, texts: texts};
})()"""

_WORD = re.compile(r"\w+")
_WORD_AT_THE_END = re.compile(r"\w+\Z")
_LONGEST_WORD, _LONGEST_RUN = 100, 60  # characters; texts that are one word together
_LISTS = frozenset({"ul", "ol", "menu", "dir"})
_RAISED = re.compile("[⁰¹²³⁴-⁹]+")

_INLINE = frozenset({
    "a", "abbr", "b", "bdi", "button", "cite", "code", "em", "font", "i", "ins", "del", "label", "mark", "q", "s",
    "small", "span", "strong", "sub", "sup", "time", "u",
})  # fmt: skip

IN_A_LIST = "text in a list, outside of its items"
GLUED_LINKS = "neighbouring links or buttons glued together"
# The rest is meant to be: no style sheet is read, and what a click would open is.
PARTED_LINKS = "neighbouring links, one word in the browser"
LETTER = "neighbouring links, one of them a single letter"
PARTED = "parted for us by an image, a field, a button or a block in a line"
JOINED = "inline markup that a style sheet sets apart"
UNEXPLAINED = "unexplained"


@dataclass(frozen=True, slots=True)
class Difference:
    """A word that stands on a page more often for one of the two."""

    page: Path
    word: str
    browser: int
    ours: int
    cause: str


class Text(NamedTuple):
    """A text of a page and where it stands."""

    said: str
    above: list[str]  # tags, the nearest first
    is_shown: bool
    link: int  # the number of the link or button around it, 0 without one
    is_letter: bool  # that link says a single letter and nothing else


@dataclass(frozen=True, slots=True)
class Shown:
    """A page in the browser."""

    text: str
    texts: list[Text]


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
        return Shown(seen["shown"], [Text(*text) for text in seen["texts"]])

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


class _Causes:
    """Why the words of a page differ. `unlike` has how much more often the browser shows each."""

    def __init__(self, unlike: dict[str, int], seen: Shown) -> None:
        self._unlike = unlike
        self._holding: dict[str, list[tuple[list[str], bool, int]]] = {word: [] for word in unlike}
        for text in seen.texts:
            words = _words(text.said)
            for word in words.keys() & unlike.keys():
                self._holding[word].append((text.above, text.is_shown, words[word]))
        self._seams = _seams([text for text in seen.texts if text.is_shown])
        self._unseen = _seams([text for text in seen.texts if not text.is_shown])
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
            return _cause_of_hiding(self._unseen[word][0][0].above)
        if (
            glue == UNEXPLAINED
            and self._unlike[word] > 0
            and any(_is_loose(above) for above, shown, _ in holding if shown)
        ):
            return IN_A_LIST
        return glue

    def _cause_of_glue(self, word: str) -> str:
        """Words that are one for one of the two and more for the other: which elements stand between them?"""
        for whole in (word, *(other for other in self._unlike if word in other and other != word)):
            for run in self._seams.get(whole, ()):
                if word == whole or any(word in _words(text.said) for text in run):
                    return _cause_between(run, ours_is_whole=self._unlike[whole] < 0)
        return UNEXPLAINED


def _cause_between(run: list[Text], *, ours_is_whole: bool) -> str:
    of_links = any(first.link != second.link and first.link and second.link for first, second in pairwise(run))
    if not ours_is_whole:
        return PARTED_LINKS if of_links else PARTED
    if of_links:
        return LETTER if any(text.is_letter for text in run) else GLUED_LINKS
    return JOINED if all(set(_apart(first, second)) <= _INLINE for first, second in pairwise(run)) else UNEXPLAINED


def _apart(first: Text, second: Text) -> list[str]:
    """The tags around one of two texts and not around the other."""
    above, below = first.above[::-1], second.above[::-1]
    shared = next((at for at, pair in enumerate(zip(above, below, strict=False)) if pair[0] != pair[1]), None)
    shared = min(len(above), len(below)) if shared is None else shared
    return above[shared:] + below[shared:]


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


def _seams(texts: list[Text]) -> dict[str, list[list[Text]]]:
    """Texts that follow each other with no space between them, by the word they would make together."""
    found: dict[str, list[list[Text]]] = {}
    run: list[Text] = []
    whole = ""
    for text in texts:
        said = tidy(text.said).casefold() if text.said.strip() == text.said else text.said.casefold()
        begin = _WORD.match(said[:_LONGEST_WORD])
        if run and begin:
            found.setdefault(whole + begin[0], []).append([*run, text])
        end = _WORD_AT_THE_END.search(said[-_LONGEST_WORD:])
        goes_on = run and end is not None and end[0] == said and len(run) < _LONGEST_RUN
        run, whole = ([*run, text], whole + said) if goes_on else ([text], end[0]) if end else ([], "")
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
