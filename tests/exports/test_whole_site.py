"""What the rows of a whole site say together."""

from typing import Any

import pytest

from gossamer.model.job import Job
from gossamer.model.page import Visit
from gossamer.recipes.base import TableQuery
from gossamer.recipes.prospect import matches
from gossamer.recipes.prospect.matches import completed
from gossamer.recipes.prospect.tables import RESULTS
from tests.conftest import AnyDatabase
from tests.exports.matches import match
from tests.jobs import claim_all, done, make_job, settle


def rows(pages: int, keyword: str = "CRM", **more: Any) -> list[dict[str, Any]]:
    return [match("a.test", str(page), keyword, **more) for page in range(pages)]


def flags(pages: int, pages_read: int, **more: Any) -> str:
    found = {row["flags"] for row in completed(rows(pages, **more), pages_read)}
    assert len(found) == 1
    return str(found.pop())


def test_pages_are_counted_per_keyword() -> None:
    whole = completed([*rows(3), *rows(1, "ERP")], 7)
    assert [(row["keyword"], row["keyword_pages"], row["site_pages"]) for row in whole] == [
        *([("CRM", 3, 7)] * 3),
        ("ERP", 1, 7),
    ]


@pytest.mark.parametrize(
    ("pages", "pages_read", "flagged"),
    [(9, 10, True), (10, 10, True), (8, 10, False), (9, 9, False), (18, 20, True), (17, 20, False)],
)
def test_a_word_on_nine_of_ten_pages_is_part_of_the_template(pages: int, pages_read: int, flagged: bool) -> None:
    assert flags(pages, pages_read) == ("nearly every page" if flagged else "")


def test_hundreds_on_one_page_are_flagged() -> None:
    assert flags(1, 20, frequency=199) == ""
    assert flags(1, 20, frequency=200) == "200+ on one page"


def test_a_mention_in_menus_only_is_flagged() -> None:
    assert flags(1, 20, position="navigation") == "navigation-only"
    assert flags(1, 20, position="body") == ""


def test_flags_stand_side_by_side() -> None:
    everything = "navigation-only;200+ on one page;nearly every page"
    assert flags(12, 12, position="navigation", frequency=500) == everything


async def read(database: AnyDatabase, job: Job, only: str = "") -> list[dict[str, Any]]:
    asked = TableQuery(job, RESULTS.columns, only)
    names = [column.name for column in RESULTS.columns]
    return [dict(zip(names, line, strict=True)) async for some in RESULTS.lines(database, asked) for line in some]


async def test_rows_know_how_many_pages_of_their_site_were_read(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test")
    (visit,) = await database.write(claim_all)
    found = [done(visit, f"http://a.test/{page}", "CRM", depth=1) for page in range(9)]
    await settle(database, *found, done(visit, "http://a.test/none", depth=1))
    whole = await read(database, job)
    assert {(row["flags"], row["keyword_pages"], row["site_pages"]) for row in whole} == {("nearly every page", 9, 10)}


async def test_rows_of_one_verdict_still_speak_of_the_whole_site(database: AnyDatabase) -> None:
    job = await database.write(make_job, "a.test", "b.test")
    for visit in await database.write(claim_all):
        for page, verdict in enumerate(["linked", "unlinked", "linked"] if visit.host == "a.test" else ["linked"]):
            await settle(database, done(visit, f"http://{visit.host}/{page}", "CRM", depth=1, verdict=verdict))
    found = await read(database, job, "unlinked")
    assert [(row["url"], row["keyword_pages"]) for row in found] == [("http://a.test/1", 3)]


@pytest.mark.parametrize("large", [matches.LARGE, 3])
async def test_a_site_that_is_read_on_meanwhile_is_as_large_as_its_rows_say(
    database: AnyDatabase, monkeypatch: pytest.MonkeyPatch, large: int
) -> None:
    monkeypatch.setattr(matches, "_SITES", 1)
    monkeypatch.setattr(matches, "ENOUGH", 1)
    monkeypatch.setattr(matches, "LARGE", large)
    job = await database.write(make_job, "a.test", "b.test", "c.test")
    first, second, third = sorted(await database.write(claim_all), key=lambda visit: visit.host)

    async def read_on(visit: Visit, low: int, high: int) -> None:
        """Every other page has the word."""
        for page in range(low, high):
            row = match(visit.host)
            keywords = ["CRM"] if page % 2 == 0 else []
            facts = {name: row[name] for name in row.keys() - {"domain", "url", "keyword"}}
            await settle(database, done(visit, f"https://{visit.host}/{page}", *keywords, **facts))

    await read_on(first, 0, 2)
    await read_on(second, 0, 2)
    await read_on(third, 0, 4)
    found: list[tuple[Any, ...]] = []
    asked = TableQuery(job, RESULTS.choose(["domain", "keyword_pages", "site_pages", "flags"]))
    async for some in RESULTS.lines(database, asked):
        if not found:
            await read_on(third, 4, 20)  # the second one is read by now: it goes one step ahead
        found += [tuple(line) for line in some]
    assert set(found) == {("a.test", 1, 2, ""), ("b.test", 1, 2, ""), ("c.test", 10, 20, "")}
