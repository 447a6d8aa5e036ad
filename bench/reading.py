"""What reading a page costs, against an earlier commit of this project: the same pages, both in one run.

The floor of a crawl reads pages with our own parser, so it cannot show that the parser itself has become slower. This
does. Each of the two reads all pages in a process of its own; they take turns, and the best turn of each counts.

Run as `python -m bench.reading PAGES`, it is one such turn: it reads the files that are listed in PAGES, one path in a
line, with the `gossamer` it is given by PYTHONPATH, and prints the milliseconds of CPU per page.
"""

import io
import os
import subprocess
import sys
import tarfile
import time
from datetime import UTC, datetime
from pathlib import Path

from bench.corpus import Corpus, build_corpus
from bench.figure import BenchFailed, Figure
from bench.running import ROOT, run

BASE = "fb2b1a9"  # the last commit that lost what stands in lists outside of their items
OF_BASE = 1.10
_PAGES, _FEW = 1_000, 120
_ROUNDS = 7


def measure(folder: Path, quick: bool) -> list[Figure]:
    corpus = build_corpus(folder / "corpus")
    pages = _pages(corpus, _FEW if quick else _PAGES)
    listed = folder / "pages.txt"
    listed.write_text("\n".join(map(str, pages)))
    sources = {"base": _exported(BASE, folder / "base"), "now": ROOT / "src"}
    turns: dict[str, list[float]] = {name: [] for name in sources}
    for number in range(2 if quick else _ROUNDS):
        # In alternating order: whatever comes first in a round finds the machine in another state.
        for name in sorted(sources, reverse=number % 2 == 1):
            turns[name].append(_turn(listed, sources[name]))
    base, now = min(turns["base"]), min(turns["now"])
    note = f"{len(pages):,} pages of documentation, best of {len(turns['now'])} turns"
    return [
        Figure("base", f"reading a page at commit {BASE}, CPU", base, "ms", note=note),
        Figure("now", "reading a page, CPU", now, "ms"),
        Figure("of_base", "that against the commit", now / base, "times", None if quick else OF_BASE),
    ]


def _pages(corpus: Corpus, most: int) -> list[Path]:
    """Evenly from all over the corpus, without the homepages, which are ours."""
    found = [page_set.folder / path[1:] for page_set in corpus.sets for path in page_set.paths if path != "/"]
    return found[:: max(1, len(found) // most)]


def _exported(commit: str, folder: Path) -> Path:
    """The source folder of a commit."""
    told = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, capture_output=True, check=False)
    if told.returncode:
        raise BenchFailed(f"no commit {commit} here to compare with: {told.stderr.decode(errors='replace').strip()}")
    with tarfile.open(fileobj=io.BytesIO(told.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


def _turn(listed: Path, source: Path) -> float:
    ran = run([sys.executable, "-m", "bench.reading", str(listed)], {**os.environ, "PYTHONPATH": str(source)})
    milliseconds, came_from = ran.out.decode().split(maxsplit=1)
    if not Path(came_from.strip()).is_relative_to(source):
        raise BenchFailed(f"it was to read with {source}, and read with {came_from}")
    return float(milliseconds)


def main() -> None:
    import gossamer
    from gossamer.model.document import Response
    from gossamer.parse import parse_document

    url, now = "https://docs.example/page.html", datetime.now(UTC)
    headers = {"content-type": "text/html"}
    paths = Path(sys.argv[1]).read_text().split("\n")
    responses = [Response(url, url, 200, headers, Path(path).read_bytes(), "direct", now) for path in paths]
    for response in responses[:50]:
        parse_document(response)
    began = time.process_time()
    for response in responses:
        parse_document(response)
    print((time.process_time() - began) / len(responses) * 1000, gossamer.__file__)


if __name__ == "__main__":
    main()
