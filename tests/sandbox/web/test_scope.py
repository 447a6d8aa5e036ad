"""What belongs to a walk, address by address."""

import pytest

from gossamer_sandbox.web.scope import MOST_OF_A_SHAPE, Scope

SITE = "http://a.test"


def takes(path: str, **patterns: tuple[str, ...]) -> bool:
    return Scope("a.test", **patterns).takes(SITE + path)


@pytest.mark.parametrize(
    "path",
    ["/a/a/b", "/a/b/a/b", "/a/b/a/b/a", "/a/a/b/a/a", "/1/2/3/4/5/1/2/3/4/5/1/2/3/4/5", "/x?a=1&a=2&a=3",
     "/x?" + "&".join(f"p{n}=1" for n in range(12))],
)  # fmt: skip
def test_what_only_looks_like_a_trap_is_taken(path: str) -> None:
    assert takes(path)


@pytest.mark.parametrize(
    "path",
    ["/a/a/a", "/x/x/x/", "/a/b/a/b/a/b", "/start/a/b/a/b/a/b/end", "/1/2/3/4/1/2/3/4/1/2/3/4", "/x?a=1&a=2&a=3&a=4",
     "/x?b=1&a&a&a&a", "/x?" + "&".join(f"p{n}=1" for n in range(13))],
)  # fmt: skip
def test_a_trap_is_refused_and_remembered(path: str) -> None:
    scope = Scope("a.test")
    assert not scope.takes(SITE + path)
    assert scope.trapped


@pytest.mark.parametrize(
    "pattern",
    ["/c/20{:02d}/05", "/c/20{:02d}/05/", "/20{:02d}/05/17", "/c/20{:02d}-11", "/20{:02d}-11-03",
     "/c?day=20{:02d}-11-03", "/c?x=1&m=20{:02d}-11", "/c?month=3&year=20{:02d}"],
)  # fmt: skip
def test_of_one_calendar_so_many_are_taken(pattern: str) -> None:
    scope = Scope("a.test")
    dates = [SITE + pattern.format(number) for number in range(10, 40)]
    taken = [url for url in dates if scope.takes(url)]
    assert taken == dates[:MOST_OF_A_SHAPE]
    assert scope.trapped
    assert [url for url in dates if scope.takes(url)] == taken, "asking again changes nothing"
    assert scope.takes(f"{SITE}/other{pattern.format(10)}"), "another shape is another calendar"


@pytest.mark.parametrize(
    "pattern", ["/c/20{:02d}/05/story", "/c/20{:02d}", "/c/20{:02d}/13", "/c?year=20{:02d}", "/n/{}"]
)
def test_numbers_are_no_calendar(pattern: str) -> None:
    scope = Scope("a.test")
    assert all(scope.takes(SITE + pattern.format(number)) for number in range(10, 60))


def test_patterns_are_on_the_whole_of_path_and_query() -> None:
    assert takes("/blog/a", include=("/blog/*",))
    assert not takes("/old/blog/a", include=("/blog/*",))
    assert takes("/a?page=2", include=("/?[?]page=2", "/a?page=?"))
    assert not takes("/ab", include=("/a?b",))
    assert takes("/a", include=("/b", "/a"))
    assert not takes("/a.b/print", exclude=("*/print",))
    assert takes("/axb/print", exclude=("/a.b/print",))
    assert not takes("/blog/a", include=("/blog/*",), exclude=("/blog/?",))


def test_only_pages_of_the_site_other_than_its_homepage() -> None:
    assert takes("/a")
    assert not takes("/")
    assert not takes("/a.PDF?x=1")
    assert not Scope("a.test").takes("http://b.test/a")
    assert not Scope("a.test").takes("http://www.a.test/")
    assert Scope("a.test").takes("http://www.a.test/a")
