"""Results a page at a time: all of them once, in their order, and only those that were asked for."""

import pytest

from gossamer.exports.paging import Page, Where
from gossamer.exports.paging import read_page as read_page_of
from gossamer.model.job import Job
from gossamer.recipes.prospect.tables import RESULTS
from tests.conftest import AnyDatabase
from tests.exports.matches import Row, job_with, match

ROWS: list[Row] = [
    match(domain, f"{page}", keyword, verdict="linked" if page == 2 else "unlinked")
    for domain in ("a.test", "b.test", "shop.b.test")
    for page in range(4)
    for keyword in ("CRM", "ERP")
]


async def read_page(database: AnyDatabase, job: Job, where: Where, number: int, size: int) -> Page:
    return await read_page_of(database, job, RESULTS, where, number, size, last="flags")


def named(rows: list[Row]) -> list[tuple[str, str]]:
    return [(row["url"], row["keyword"]) for row in rows]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (Where(), ROWS),
        (Where(domain="a.test"), ROWS[:8]),
        (Where(domain="b.test"), ROWS[8:]),  # its subdomains are covered
        (Where(domain="shop.b.test"), ROWS[16:]),
        (Where(values={"keyword": "ERP"}), [row for row in ROWS if row["keyword"] == "ERP"]),
        (Where(values={"verdict": "linked"}), [row for row in ROWS if row["verdict"] == "linked"]),
        (
            Where("a.test", {"keyword": "CRM", "verdict": "linked"}),
            [row for row in ROWS[:8] if named([row]) == [("https://a.test/2", "CRM")]],
        ),
        (Where(domain="c.test"), []),
    ],
)
async def test_pages_come_to_all_that_fit(database: AnyDatabase, where: Where, expected: list[Row]) -> None:
    job = await job_with(database, ROWS)
    for size in (1, 5, 8, 100):
        found, number = [], 1
        while True:
            page = await read_page(database, job, where, number, size)
            assert len(page.rows) <= size
            found += page.rows
            if page.is_last:
                break
            assert len(page.rows) == size
            number += 1
        assert named(found) == named(expected)
        assert number == max(1, -(-len(expected) // size))
    assert (await read_page(database, job, where, 30, 8)).rows == []


async def test_rows_with_a_flag_come_after_all_others_on_every_page(database: AnyDatabase) -> None:
    rows = [
        match(domain, f"{page}", keyword, position="navigation" if domain == "a.test" or page == 1 else "body")
        for domain in ("a.test", "b.test", "c.test")
        for page in range(3)
        for keyword in ("CRM", "ERP")
    ]
    expected = sorted(rows, key=lambda row: row["position"] == "navigation")  # else in the order of the files
    assert expected[0]["domain"] == "b.test"
    job = await job_with(database, rows)
    for size in (1, 4, 7, 100):
        pages = [await read_page(database, job, Where(), number, size) for number in range(1, 20)]
        assert named([row for page in pages for row in page.rows]) == named(expected)
        assert [page.is_last for page in pages].index(True) == (len(rows) - 1) // size
    crm = await read_page(database, job, Where("b.test", {"keyword": "CRM"}), 1, 10)
    assert [row["url"][-1] for row in crm.rows] == ["0", "2", "1"]


async def test_rows_have_the_columns_of_the_table_and_no_others(database: AnyDatabase) -> None:
    job = await job_with(database, [match("a.test")])
    (row,) = (await read_page(database, job, Where(), 1, 10)).rows
    assert len(row) == 15
    assert "page_date" not in row
    assert (row["flags"], row["keyword_pages"], row["site_pages"]) == ("", 1, 1)
