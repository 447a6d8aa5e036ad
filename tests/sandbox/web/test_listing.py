"""How a sitemap is read, file by file."""

from gossamer_sandbox.web.listing import Sitemap, SitemapFile, listed_pages

HOME = "http://a.test/"


def read(
    files: dict[str, SitemapFile], *named: str, forbidden: tuple[str, ...] = (), pages: int = 500
) -> tuple[dict[str, float], list[str]]:
    """What is found, and the files that were asked for."""
    asked: list[str] = []

    def look(url: str) -> SitemapFile | None:
        asked.append(url.removeprefix("http://a.test"))
        return files.get(asked[-1])

    found = listed_pages(
        HOME, Sitemap(named, look), lambda url: url not in forbidden, lambda url: "/skip" not in url, pages
    )
    return {url.removeprefix("http://a.test"): priority for url, priority in found.items()}, asked


def plain(*paths: str) -> SitemapFile:
    return SitemapFile([(f"http://a.test{path}", None) for path in paths])


def test_the_usual_place_is_looked_at_only_where_robots_txt_names_none() -> None:
    files = {"/sitemap.xml": plain("/usual"), "/other.xml": plain("/named")}
    assert read(files) == ({"/usual": 0.5}, ["/sitemap.xml"])
    assert read(files, "http://a.test/other.xml") == ({"/named": 0.5}, ["/other.xml"])
    assert read(files, "http://b.test/other.xml") == ({}, [])


def test_an_index_is_followed_three_deep() -> None:
    files = {f"/{depth}.xml": SitemapFile(files=(f"http://a.test/{depth + 1}.xml",)) for depth in range(9)}
    assert read(files, "http://a.test/0.xml")[1] == ["/0.xml", "/1.xml", "/2.xml", "/3.xml"]


def test_forbidden_and_foreign_files_are_not_asked_for_and_none_twice() -> None:
    files = {
        "/sitemap.xml": SitemapFile(
            files=("http://b.test/x.xml", "http://a.test/no.xml", "http://a.test/yes.xml", "http://a.test/sitemap.xml")
        ),
        "/yes.xml": plain("/page", "/skip"),
    }
    assert read(files, forbidden=("http://a.test/no.xml",)) == ({"/page": 0.5}, ["/sitemap.xml", "/yes.xml"])


def test_reading_ends_after_the_file_in_which_enough_was_seen() -> None:
    files = {f"/{number}": plain(*(f"/{number}/{page}" for page in range(1_001))) for number in range(4)}
    named = [f"http://a.test/{number}" for number in range(4)]
    found, asked = read(files, *named)
    assert (len(found), asked) == (2_002, ["/0", "/1"])
    assert len(read(files, *named, pages=2_500)[0]) == 3_003


def test_twenty_files_are_enough() -> None:
    files = {"/sitemap.xml": SitemapFile(files=tuple(f"http://a.test/{number}.xml" for number in range(40)))}
    assert len(read(files)[1]) == 20


def test_priorities_are_kept() -> None:
    files = {
        "/sitemap.xml": SitemapFile([("http://a.test/a", 0.9), ("http://a.test/b", None), ("not an address", 1.0)])
    }
    assert read(files)[0] == {"/a": 0.9, "/b": 0.5}
