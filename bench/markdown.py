"""Markdown of article pages: how much of it is the article, how much of the article is in it, and what it costs.

The pages and their texts are those of a public benchmark, which is not part of this repository: a folder with
`truth.json` (`{ID: {"articleBody": ..., "url": ...}}`) and `html/ID.html.gz`, named by `GOSSAMER_ARTICLES`, else
`../shared/data/articles` beside the repository. Without it the benchmark is skipped.

Words are compared as bags: every run of letters and digits in lower case, as often as it occurs. Addresses of links and
images in the Markdown are no words of it. Half of the pages, by a digest of their names, were never looked at while the
rules were made; figures of both halves are given.
"""

import gzip
import os
import re
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
from turbohtml import parse

from bench.figure import BenchSkipped, Figure
from bench.peer import Peer
from bench.running import ROOT
from gossamer.analyze.markdown import markdown_of
from gossamer.model.document import Document, Response
from gossamer.parse import parse_document
from gossamer.parse.decode import decode

PEERS = {name: Peer("article_text", "articles", one_by_one=True) for name in ("trafilatura", "readability-lxml")}
LEAST_F1, LEAST_RECALL, LIMIT = 0.93, 0.97, 1 / 8

_HTML = "text/html; charset=utf-8"
_WORD = re.compile(r"\w+")
_IMAGE = re.compile(r"!\[(?:[^\]\\]|\\.)*\]\([^)\s]*(?:\s\"[^\"]*\")?\)")
_ADDRESS = re.compile(r"\]\((?:<[^>]*>|[^()\s]*(?:\([^()]*\)[^()\s]*)*)(?:\s\"(?:[^\"\\]|\\.)*\")?\)|<https?://[^>]*>")


@dataclass(frozen=True, slots=True)
class Scores:
    """Of some pages. Means are over pages, `overall` is F1 of all words of all pages together."""

    precision: float
    recall: float
    f1: float
    overall: float


def measure(folder: Path, quick: bool) -> list[Figure]:
    place = Path(os.environ.get("GOSSAMER_ARTICLES") or ROOT.parent / "shared" / "data" / "articles")
    if not (place / "truth.json").is_file():
        raise BenchSkipped("no article pages here: name their folder in GOSSAMER_ARTICLES (see bench/markdown.py)")
    told: dict[str, Any] = orjson.loads((place / "truth.json").read_bytes())
    names = sorted(told)[: 8 if quick else None]
    truth = {name: str(told[name]["articleBody"]) for name in names}
    urls = {name: str(told[name].get("url") or "https://article.test/") for name in names}
    bodies = {name: gzip.decompress((place / "html" / f"{name}.html.gz").read_bytes()) for name in names}
    pages = {name: _written(folder / f"{number}.html", body) for number, (name, body) in enumerate(bodies.items())}
    PEERS["trafilatura"].prepare()
    texts: dict[str, dict[str, str]] = {}
    cpu: dict[str, list[float]] = {name: [] for name in ("ours", "alone", *PEERS)}
    # Side by side in every round, so that what else the machine does comes to all alike.
    for _ in range(1 if quick else 3):
        read, from_bytes = _tree_cpu(bodies)
        documents = {name: _document(body, urls[name]) for name, body in bodies.items()}
        texts["ours"], alone = _ours(documents)
        cpu["alone"].append(alone)
        cpu["ours"].append(alone + from_bytes)
        assert read == len(names)
        for name, peer in PEERS.items():
            task, answer = folder / f"{name}.json", folder / f"{name}-texts.json"
            task.write_bytes(orjson.dumps({"library": name, "pages": pages, "texts": str(answer)}))
            cpu[name].append(orjson.loads(peer.run(task).out.splitlines()[-1])["cpu"])
            texts[name] = orjson.loads(answer.read_bytes())
    per_page = {name: min(taken) / len(names) * 1000 for name, taken in cpu.items()}
    ours = scores(texts["ours"], truth, names)
    halves = [scores(texts["ours"], truth, [name for name in names if half(name) == which]) for which in (0, 1)]
    others = {name: scores(texts[name], truth, names) for name in PEERS}
    size = sum(map(len, bodies.values())) / len(names) / 1000
    return [
        Figure("pages", "article pages", len(names), "", note=f"{size:.0f} kB each"),
        Figure(
            "f1",
            "F1 of the words of Markdown, mean over pages",
            ours.f1,
            "",
            least=LEAST_F1,
            note=f"{ours.overall:.3f} over all words; tuned with {halves[0].f1:.3f}, held out {halves[1].f1:.3f}",
        ),
        Figure("recall", "its recall", ours.recall, "", least=LEAST_RECALL, note=f"held out {halves[1].recall:.3f}"),
        Figure("precision", "its precision, titles and bylines counted as wrong", ours.precision, ""),
        *(
            Figure(
                f"f1_{name.partition('-')[0]}",
                f"F1 of {name}",
                score.f1,
                "",
                note=f"{score.overall:.3f} over all words; precision {score.precision:.3f}, recall {score.recall:.3f}",
            )
            for name, score in others.items()
        ),
        Figure("cpu", "from a page's bytes to its Markdown, CPU", per_page["ours"], "ms"),
        Figure("alone", "of that, the Markdown of a page that has been read anyway", per_page["alone"], "ms"),
        *(Figure(f"cpu_{name.partition('-')[0]}", f"{name}, CPU", per_page[name], "ms") for name in PEERS),
        Figure("ratio", "ours against trafilatura", per_page["ours"] / per_page["trafilatura"], "times", LIMIT),
    ]


def half(name: str) -> int:
    """0 for pages that rules were tuned with, 1 for those that were held out."""
    return int(sha256(name.encode()).hexdigest(), 16) % 2


def scores(texts: dict[str, str], truth: dict[str, str], names: Iterable[str]) -> Scores:
    rows = [_counts(texts[name], truth[name]) for name in names]
    found = [(both / said if said else 0.0, both / meant if meant else 1.0) for both, said, meant in rows]
    f1s = [2 * precision * recall / (precision + recall or 1) for precision, recall in found]
    count = len(rows) or 1
    both, said, meant = (sum(column) for column in zip(*rows, strict=True)) if rows else (0, 0, 0)
    return Scores(
        sum(precision for precision, _ in found) / count,
        sum(recall for _, recall in found) / count,
        sum(f1s) / count,
        2 * both / (said + meant or 1),
    )


def words(text: str) -> Counter[str]:
    """Those of Markdown or plain text, without addresses."""
    return Counter(word.lower() for word in _WORD.findall(_ADDRESS.sub("]", _IMAGE.sub(" ", text))))


def _counts(text: str, meant: str) -> tuple[int, int, int]:
    ours, theirs = words(text), Counter(word.lower() for word in _WORD.findall(meant))
    return (ours & theirs).total(), ours.total(), theirs.total()


def _written(path: Path, body: bytes) -> str:
    path.write_text(decode(body, _HTML), encoding="utf-8")
    return str(path)


def _document(body: bytes, url: str) -> Document:
    read = parse_document(Response(url, url, 200, {"content-type": _HTML}, body, "direct", datetime.now(UTC)))
    assert isinstance(read, Document)
    return read


def _tree_cpu(bodies: dict[str, bytes]) -> tuple[int, float]:
    """What it takes to come from bytes to the tree that Markdown is made of."""
    began = time.process_time()
    read = sum(parse(decode(body, _HTML), positions=False, scripting=True) is not None for body in bodies.values())
    return read, time.process_time() - began


def _ours(documents: dict[str, Document]) -> tuple[dict[str, str], float]:
    markdown_of(next(iter(documents.values())))
    began = time.process_time()
    texts = {name: markdown_of(doc) for name, doc in documents.items()}
    return texts, time.process_time() - began
