"""What a keyword costs: the same pages of the corpus with 10 keywords and with 500."""

from pathlib import Path

from bench.corpus import build_corpus
from bench.figure import BenchFailed, Figure
from bench.lists import corpus_keywords, write_lines
from bench.nginx import nginx
from bench.product import Asked, Crawled, crawl, warm_up

FEW, MANY = 10, 500
LIMIT = 1.4


def measure(folder: Path, quick: bool) -> list[Figure]:
    corpus = build_corpus(folder / "corpus")
    rounds, names = (1, 1) if quick else (3, 2)
    if quick:
        corpus = corpus.first(1)
    words = {count: write_lines(folder / f"{count}.txt", corpus_keywords(count)) for count in (FEW, MANY)}
    domains = [f"http://{host}/" for host in corpus.hosts(names)]
    taken: dict[int, list[Crawled]] = {FEW: [], MANY: []}
    with nginx(corpus, folder / "nginx") as server:
        one_page = Asked(folder / "start", domains[:1], words[MANY], server.port, pages=1)
        warm_up(one_page)
        started = crawl(one_page)
        for number in range(rounds):
            for count, listed in words.items():
                done = crawl(Asked(folder / f"{count}-{number}", domains, listed, server.port))
                if done.pages != corpus.pages(names):
                    raise BenchFailed(f"the job read {done.pages} pages, there are {corpus.pages(names)}")
                taken[count].append(done)
    few, many = (_beyond_start(taken[count], started) for count in (FEW, MANY))
    found = {count: runs[0].matches / runs[0].pages for count, runs in taken.items()}
    return [
        Figure("few", f"{FEW} keywords, CPU per page", few, "ms", note=f"{found[FEW]:.1f} matches a page"),
        Figure("many", f"{MANY} keywords, CPU per page", many, "ms", note=f"{found[MANY]:.1f} matches a page"),
        Figure("ratio", "that against the few", many / few, "times", LIMIT),
    ]


def _beyond_start(runs: list[Crawled], started: Crawled) -> float:
    """Milliseconds per page. Starting costs the same whatever the keywords, and would only hide a difference."""
    return (min(done.cpu for done in runs) - started.cpu) / (runs[0].pages - started.pages) * 1000
