"""What a page costs: whole jobs on real pages, beside a bare loop of the same libraries and beside other crawlers.

Two comparisons, each of the best of three rounds in which everybody takes a turn. The floor and our own processes read
the corpus under all its names. The peers, who would need an hour for that, read every set under one name, and so do we.
All CPU is that of whole programs and their children. robots.txt allows everything.

Starting costs the same for three thousand pages and for three million, and differs between programs. It is therefore
measured by itself, on the first set alone, and the cost of a page is what the other sets cost beyond that. What a page
costs with starting and ending is said beside it.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import orjson

from bench.corpus import NAMES, Corpus, build_corpus
from bench.figure import BenchFailed, Figure
from bench.lists import corpus_keywords, write_lines
from bench.nginx import Nginx, nginx
from bench.peer import Peer, Read
from bench.product import Asked, crawl, warm_up
from bench.running import run

PLAIN, TUNED = Peer("scrapy_plain", "scrapy"), Peer("scrapy_tuned", "scrapy")
BY_HAND, CRAWLEE = Peer("scrapy_by_hand", "scrapy"), Peer("crawlee_parsel", "crawlee")
MEANINGS: Mapping[Peer, str] = {
    PLAIN: "Scrapy as documented",
    TUNED: "Scrapy tuned: nothing on that it does not need",
    BY_HAND: "the same with pages taken apart by lxml instead of selectors",
    CRAWLEE: "Crawlee's ParselCrawler",
}
# What a page of ours may cost at most of what it costs a peer.
SHARES: Mapping[Peer, float] = {TUNED: 1 / 5, CRAWLEE: 1 / 8}
OF_FLOOR = 1.5
OF_LIBRARY = 1.75
FASTER = 1.5  # two processes against one

Turn = Callable[[int], Read]


@dataclass(frozen=True, slots=True)
class _Course:
    """Which part of the corpus is read, and the turns that read it."""

    corpus: Corpus
    names: int
    keywords: list[str]
    server: Nginx
    folder: Path

    def floor(self, reading: str) -> Turn:
        def take(number: int) -> Read:
            task = self._task(f"{reading}-{number}", {"sites": self.corpus.urls(self.names), "reading": reading})
            ran = run([sys.executable, "-m", "bench.floor", str(task)])
            told = orjson.loads(ran.out)
            return Read(told["pages"], told["matches"], ran.cpu, told["wall"])

        return take

    def ours(self, processes: int) -> Turn:
        def take(number: int) -> Read:
            done = crawl(self.asked(processes, number))
            return Read(done.pages, done.matches, done.cpu, done.walking)

        return take

    def asked(self, processes: int, number: int) -> Asked:
        words = write_lines(self.folder / "keywords.txt", self.keywords)
        domains = [f"http://{host}/" for host in self.corpus.hosts(self.names)]
        home = self.folder / f"{self.names}-{processes}-{number}"
        return Asked(home, domains, words, self.server.port, processes=processes)

    def peer(self, peer: Peer) -> Turn:
        task = self._task("peers", {"hosts": self.corpus.hosts(self.names)})
        return lambda _: peer.crawl(task)

    def best(self, turns: Mapping[str, Turn], rounds: int) -> dict[str, Read]:
        """Least CPU and least wall time of each, be they of two rounds."""
        taken: dict[str, list[Read]] = {name: [] for name in turns}
        for number in range(rounds):
            for name, take in turns.items():
                read = take(number)
                self._expect(name, read)
                taken[name].append(read)
                # It takes a quarter of an hour in all: whoever waits may see it go on.
                print(f"  round {number + 1}, {name}: {read.per_page:.2f} ms per page", file=sys.stderr, flush=True)
        return {name: _best(reads) for name, reads in taken.items()}

    def _task(self, name: str, content: dict[str, object]) -> Path:
        path = self.folder / f"{name}.json"
        path.write_bytes(orjson.dumps({**content, "port": self.server.port, "keywords": self.keywords}))
        return path

    def _expect(self, name: str, read: Read) -> None:
        """A comparison says something only if everybody has read the same."""
        pages = self.corpus.pages(self.names)
        if read.pages != pages:
            raise BenchFailed(f"{name} read {read.pages:,} pages, there are {pages:,}")


def measure(folder: Path, quick: bool) -> list[Figure]:
    corpus = build_corpus(folder / "corpus")
    keywords = corpus_keywords(50)
    rounds, names, peers = (1, 2, (TUNED,)) if quick else (3, len(NAMES), (TUNED, BY_HAND, CRAWLEE))
    if quick:
        corpus = corpus.first(1)
    for peer in peers:
        peer.prepare()
    with nginx(corpus, folder / "nginx") as server:
        whole = _Course(corpus, names, keywords, server, folder)
        shared = _Course(corpus, 1, keywords, server, folder)
        warm_up(shared.asked(1, -1))
        bare = {"floor": whole.floor("parser"), "library": whole.floor("library")}
        alone = whole.best({**bare, "one": whole.ours(1), "two": whole.ours(2)}, rounds)
        contest = shared.best({"ours": shared.ours(1)} | _turns(shared, peers), rounds)
        begun = {}
        if not quick:
            # Nothing depends on the plain one, and it takes as long as all the others together.
            contest |= shared.best(_turns(shared, [PLAIN]), 1)
            first = _Course(corpus.first(1), 1, keywords, server, folder / "first")
            first.folder.mkdir()
            bare = {"floor": first.floor("parser"), "library": first.floor("library")}
            begun = first.best({**bare, "one": first.ours(1), "two": first.ours(2)}, rounds)
            begun |= first.best(_turns(first, [*peers, PLAIN]), 1)
            begun["ours"] = begun["one"]
    _compare([*alone.values()])
    _compare([*contest.values()])
    return [*_own_figures(alone, begun, corpus, names), *_peer_figures(contest, begun)]


def _turns(course: _Course, peers: Iterable[Peer]) -> dict[str, Turn]:
    return {peer.program: course.peer(peer) for peer in peers}


def _own_figures(alone: dict[str, Read], begun: dict[str, Read], corpus: Corpus, names: int) -> list[Figure]:
    costs = {name: _beyond(read, begun.get(name)) for name, read in alone.items()}
    floor, library, one, two = (costs[name] for name in ("floor", "library", "one", "two"))
    whole = alone["one"]
    read = f"{whole.pages:,} pages of {len(corpus.hosts(names))} hosts, {whole.matches:,} matches"
    started = {name: f"{read.per_page:.3g} ms with starting and ending" for name, read in alone.items()}
    in_all = f"{whole.per_page / alone['floor'].per_page:.3g} with starting and ending"
    speed_one, speed_two = whole.pages / whole.wall, alone["two"].pages / alone["two"].wall
    bare = "a bare loop of the same client, parser and matcher, CPU per page"
    return [
        Figure("floor", bare, floor, "ms", note=f"{read}; {started['floor']}"),
        Figure("library", "the same with the bare calls of the parser's library", library, "ms"),
        Figure("page", "a page of a job, one process working, CPU", one, "ms", note=started["one"]),
        Figure("of_floor", "that against the floor", one / floor, "times", OF_FLOOR, note=in_all),
        Figure("of_library", "that against the bare calls", one / library, "times", OF_LIBRARY),
        Figure("page_two", "the same, two processes working", two, "ms", note=started["two"]),
        Figure("speed", "pages per second, one process", speed_one, ""),
        Figure("speed_two", "pages per second, two, nginx on the same cores", speed_two, ""),
        Figure("faster", "two processes against one", speed_two / speed_one, "times", least=FASTER),
    ]


def _peer_figures(contest: dict[str, Read], begun: dict[str, Read]) -> list[Figure]:
    costs = {name: _beyond(read, begun.get(name)) for name, read in contest.items()}
    ours, whole = costs["ours"], contest["ours"]
    note = f"{whole.pages:,} pages, each once; {whole.per_page:.3g} ms with starting and ending"
    figures = [Figure("page_shared", "a page of a job on the pages of the peers, CPU", ours, "ms", note=note)]
    for peer in (peer for peer in MEANINGS if peer.program in contest):
        cost, name, limit = costs[peer.program], peer.program, SHARES.get(peer)
        note = f"{contest[name].per_page:.3g} ms with starting and ending"
        figures.append(Figure(name, f"{MEANINGS[peer]}, CPU per page", cost, "ms", note=note))
        figures.append(Figure(f"of_{name}", "ours against that", ours / cost, "times", limit))
    return figures


def _beyond(read: Read, begun: Read | None) -> float:
    """CPU in milliseconds of a page beyond those of the first set."""
    return (read.cpu - begun.cpu) / (read.pages - begun.pages) * 1000 if begun else read.per_page


def _compare(reads: list[Read]) -> None:
    """Libraries differ about what is text; they do not differ much."""
    matches = [read.matches for read in reads]
    if max(matches) > min(matches) * 1.05:
        raise BenchFailed(f"the contestants do not find the same: {matches} matches")


def _best(reads: list[Read]) -> Read:
    first = reads[0]
    return Read(first.pages, first.matches, min(read.cpu for read in reads), min(read.wall for read in reads))
