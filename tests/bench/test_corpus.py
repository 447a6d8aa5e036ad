"""The corpus is fair: every link on a site of it leads to a page of that site, or off the site."""

from pathlib import Path
from urllib.parse import urljoin

import pytest
from turbohtml import parse

from bench import corpus
from bench.corpus import ELSEWHERE, Corpus, build_corpus, install
from bench.figure import BenchFailed
from bench.lists import corpus_keywords

SIZE = 3_000  # bytes, more than a stub


def page(*hrefs: str) -> str:
    links = "".join(f'<a href="{href}">there</a>' for href in hrefs)
    return f"<!DOCTYPE html><title>t</title><body>{links}<p>{'words ' * (SIZE // 6)}"


@pytest.fixture
def documentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package's folder: pages that link to each other, a stub, and a page that is empty without scripts."""
    folder = tmp_path / "package"
    (folder / "library").mkdir(parents=True)
    (folder / "index.html").write_text(page("library/a.html#top", "missing.html", "#here", "mailto:x@y.example"))
    (folder / "library" / "a.html").write_text(page("../index.html", "b.html", "../../out.html", "b.html?q=1"))
    (folder / "library" / "b.html").write_text(page("", "//other.example/x", "a.html"))
    (folder / "stub.html").write_text("<meta http-equiv=refresh content='0; url=index.html'>")
    (folder / "search.html").write_text(page())
    monkeypatch.setattr(corpus, "PACKAGES", (corpus._Package("some-doc", "some", folder),))
    return folder


def links_of(built: Corpus, path: str) -> set[str]:
    [only] = built.sets
    file = only.folder / ("index.html" if path == "/" else path[1:])
    hrefs = [element.attr("href") or "" for element in parse(file.read_bytes()).select("a[href]")]
    return {urljoin(f"http://{only.host('a')}{path}", href).partition("#")[0] for href in hrefs}


def test_links_stay_within_the_set_or_leave_the_site(documentation: Path, tmp_path: Path) -> None:
    built = build_corpus(tmp_path / "corpus")
    [only] = built.sets
    here = {f"http://some-1-a.test{path}" for path in only.paths}
    assert only.paths == ("/", "/doc/index.html", "/doc/library/a.html", "/doc/library/b.html")
    for path in only.paths:
        followed = {url for url in links_of(built, path) if url.startswith("http://some-1-a.test")}
        assert followed <= here, path
    assert links_of(built, "/") == here - {"http://some-1-a.test/"}
    assert f"{ELSEWHERE}missing.html" in links_of(built, "/doc/index.html")
    assert {f"{ELSEWHERE}out.html", f"{ELSEWHERE}b.html?q=1"} <= links_of(built, "/doc/library/a.html")


def test_a_set_is_served_under_eight_names_of_their_own(documentation: Path, tmp_path: Path) -> None:
    built = build_corpus(tmp_path / "corpus")
    assert built.hosts() == [f"some-1-{letter}.test" for letter in "abcdefgh"]
    assert built.pages() == 8 * built.pages(1) == 32
    assert built.urls(1) == [[f"http://some-1-a.test{path}" for path in built.sets[0].paths]]


def test_large_documentation_is_dealt_into_sets_of_about_equal_size(documentation: Path, tmp_path: Path) -> None:
    for number in range(400):
        (documentation / f"{number:03}.html").write_text(page("index.html"))
    sizes = [len(one.paths) for one in build_corpus(tmp_path / "corpus").sets]
    assert len(sizes) == 2
    assert max(sizes) - min(sizes) <= 1
    assert sum(sizes) == 403 + 2


def test_where_nothing_can_be_installed_the_error_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BenchFailed, match="missing here: nginx-light sqlite3-doc"):
        install(["nginx-light", "sqlite3-doc"])


def test_five_hundred_keywords_are_five_hundred_different_ones() -> None:
    words = corpus_keywords(500)
    assert len({word.lower() for word in words}) == 500
    assert corpus_keywords(10) == words[:10]
