"""Domains ranked by what was seen on their pages: against a slow computation that is obviously right."""

import random
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from gossamer.model.job import Job
from gossamer.recipes.base import TableQuery
from gossamer.recipes.prospect.ranking import COLUMNS, ranking_of
from gossamer.recipes.prospect.scoring import Facts, points_of
from gossamer.recipes.prospect.tables import PROSPECTS
from tests.conftest import AnyDatabase
from tests.exports.matches import Row, job_with, match

NAMES = [column.name for column in COLUMNS]


async def prospects(database: AnyDatabase, job: Job, **asked: Any) -> list[dict[str, Any]]:
    lines = PROSPECTS.lines(database, TableQuery(job, COLUMNS, **asked))
    return [dict(zip(NAMES, line, strict=True)) async for some in lines for line in some]


def slowly(domain: str, rows: list[Row], read: int, failed: int) -> dict[str, Any]:
    """One domain as docs/explain/prospects.md tells it, with sets and no cleverness."""

    def pages(*conditions: Any) -> set[str]:
        return {row["url"] for row in rows if all(holds(row) for holds in conditions)}

    def is_open(row: Row) -> bool:
        return row["verdict"] in ("unlinked", "")

    def in_text(row: Row) -> bool:
        same = len({one["url"] for one in rows if one["keyword"] == row["keyword"]})
        return row["position"] != "navigation" and not (read >= 10 and same >= 0.9 * read)

    text, open_text = pages(in_text), pages(is_open, in_text)
    keywords = {row["keyword"] for row in rows if is_open(row) and in_text(row)}
    closed = {
        row["url"]
        for row in rows
        if row["url"] in text
        and (row["verdict"] == "nofollow" or (row["outbound_links"] and not row["outbound_followed"]))
    }
    linking = pages(lambda row: row["url"] in text, lambda row: row["outbound_followed"])
    dates = [row["page_date"] for row in rows if row["url"] in text and row["page_date"]]
    age = (date(2026, 3, 4) - date.fromisoformat(max(dates))).days if dates else 10_000
    parts = {
        "points_unlinked": min(40, 8 * len(open_text) + 0.8 * len(pages(is_open) - open_text)),
        "points_keywords": min(20, 5 * len(keywords)),
        "points_pages": min(10, 2 * len(text)),
        "points_freshness": 15 if age <= 90 else 10 if age <= 365 else 5 if age <= 730 else 0,
        "points_outbound": min(15, 3 * len(linking)),
        "points_nofollow": max(-10, -2 * len(closed)),
        "points_errors": round(-100 * failed / (read + failed)) / 10,
    }
    return {
        "domain": domain,
        "score": max(0, round(sum(parts.values()), 1)),
        "unlinked_pages": len(open_text),
        "navigation_pages": len(pages(is_open) - open_text),
        "linked_pages": len(pages(lambda row: row["verdict"] == "linked")),
        "nofollow_pages": len(pages(lambda row: row["verdict"] == "nofollow")),
        "matching_pages": len(pages()),
        "keywords": len(keywords),
        "newest_date": max(dates, default=""),
        "linking_out_pages": len(linking),
        "pages_read": read,
        "pages_failed": failed,
        **{name: round(points, 1) for name, points in parts.items()},
    }


def chance(seed: int) -> tuple[list[Row], dict[str, int], dict[str, int]]:
    dice = random.Random(seed)
    rows, failed, besides = [], {}, {}
    for number in range(12):
        domain = f"site{number}.test"
        if dice.random() < 0.5:
            failed[domain] = dice.randrange(1, 6)
        if dice.random() < 0.5:
            besides[domain] = dice.randrange(1, 12)
        for path in range(dice.randrange(1, 13)):
            links = dice.choice([0, 0, 2, 5])
            page: dict[str, Any] = {
                "page_date": dice.choice(["", "", "2026-02-01", "2025-06-01", "2024-09-01", "2019-01-01"]),
                "outbound_links": links,
                "outbound_followed": dice.randrange(links + 1),
            }
            verdict = dice.choice(["unlinked", "unlinked", "links-elsewhere", "linked", "nofollow"])
            for keyword in dice.sample(["CRM", "ERP", "boats", "sails", "ropes"], dice.randrange(1, 5)):
                position = dice.choice(["title", "heading", "body", "body", "navigation"])
                times = dice.randrange(1, 4)
                rows.append(
                    match(domain, f"{path}", keyword, position=position, verdict=verdict, frequency=times, **page)
                )
    dice.shuffle(rows)
    return rows, failed, besides


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_ranks_are_those_of_the_slow_computation(database: AnyDatabase, seed: int) -> None:
    rows, failed, besides = chance(seed)
    job = await job_with(database, rows, failed_pages=failed, read_besides=besides, empty=["empty.test"])
    expected = []
    for domain in {row["domain"] for row in rows}:
        own = [row for row in rows if row["domain"] == domain]
        read = len({row["url"] for row in own}) + besides.get(domain, 0)
        expected.append(slowly(domain, own, read, failed.get(domain, 0)))
    expected.sort(key=lambda one: (-one["score"], -one["unlinked_pages"], -one["keywords"], one["domain"]))
    found = await prospects(database, job)
    assert [one["rank"] for one in found] == list(range(1, len(expected) + 1))
    assert [{name: one[name] for name in expected[0]} for one in found] == expected
    assert len({one["score"] for one in found}) > 5  # and not all the same, which would be right by accident


async def test_the_best_page_is_one_that_could_be_written_to(database: AnyDatabase) -> None:
    rows = [
        match("a.test", "title", verdict="linked", position="title"),
        match("a.test", "menu", position="navigation", frequency=9),
        match("a.test", "body", frequency=1, context_snippet="once"),
        match("a.test", "more", frequency=4, context_snippet="four times"),
    ]
    (found,) = await prospects(database, await job_with(database, rows))
    assert (found["best_page"], found["best_snippet"]) == ("https://a.test/more", "four times")
    assert (found["new"], found["keyword_names"]) == ("", "CRM")


async def test_a_mention_in_a_menu_counts_little(database: AnyDatabase) -> None:
    rows = [match("menu.test", f"{page}", position="navigation") for page in range(5)] + [match("text.test", "1")]
    first, second = await prospects(database, await job_with(database, rows))
    assert (first["domain"], second["domain"]) == ("text.test", "menu.test")
    assert (first["points_unlinked"], second["points_unlinked"]) == (8, 4)
    assert second["score"] == 4  # neither its keyword nor its pages count


async def test_the_clients_own_site_is_no_prospect(database: AnyDatabase) -> None:
    rows = [match("client.test", "x", verdict="own-site"), match("a.test", "x", verdict="linked")]
    assert [one["domain"] for one in await prospects(database, await job_with(database, rows))] == ["a.test"]


async def test_a_domain_is_new_if_an_earlier_job_had_no_row_of_it(database: AnyDatabase) -> None:
    earlier = await job_with(database, [match("known.test")], empty=["visited.test"])
    job = await job_with(database, [match("known.test"), match("visited.test"), match("never.test")])
    found = await prospects(database, job, since=earlier)
    assert {one["domain"]: one["new"] for one in found} == {
        "known.test": "no",
        "visited.test": "yes",
        "never.test": "yes",
    }
    fresh = await prospects(database, job, since=earlier, only="new")
    assert [(one["rank"], one["domain"]) for one in fresh] == [(1, "never.test"), (2, "visited.test")]


async def test_domains_of_a_suppression_list_are_left_out(database: AnyDatabase) -> None:
    job = await job_with(database, [match("a.test"), match("shop.b.test"), match("b2.test")])
    found = await prospects(database, job, excluded=frozenset({"b.test", "a.test"}))
    assert [one["domain"] for one in found] == ["b2.test"]


async def test_only_those_with_something_to_link(database: AnyDatabase) -> None:
    job = await job_with(database, [match("a.test", verdict="linked"), match("b.test")])
    assert [one["domain"] for one in await prospects(database, job, only="unlinked")] == ["b.test"]


async def test_some_columns_in_another_order(database: AnyDatabase) -> None:
    job = await job_with(database, [match("a.test")])
    wanted = PROSPECTS.choose(["score", "domain"])
    assert [some async for some in PROSPECTS.lines(database, TableQuery(job, wanted))] == [[[15, "a.test"]]]
    assert (await ranking_of(database, TableQuery(job, wanted))).best(1, wanted) == [[15, "a.test"]]


def test_every_part_has_its_limit() -> None:
    much = Facts(100, 100, 100, 100, 100, 0, date(2026, 1, 2), date(2026, 1, 3), 100, 0)
    assert points_of(much).total == 1000
    closed = replace(much, closed_pages=100, pages_failed=300)
    assert (points_of(closed).nofollow, points_of(closed).errors) == (-100, -75)
    assert points_of(Facts(pages_failed=3)).total == 0
    assert points_of(Facts()).total == 0
