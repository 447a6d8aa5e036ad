"""Proof that proof can fail: each kind of wrong is found, and nothing else is."""

import asyncio
import json
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from gossamer_sandbox.web import SampleWeb, serve
from gossamer_sandbox.web.proof import (
    compare,
    compare_sites,
    compare_verdicts,
    forbidden_requests,
    read_log,
    smallest_gaps,
)
from tests.sandbox.web.asking import ask

WEB = SampleWeb(sites=30, seed=6)
TRUTH = WEB.truth()


def right_rows() -> list[tuple[str, str, int]]:
    return [
        (page["url"], keyword, count)
        for site in TRUTH["sites"]
        for page in site["pages"]
        if page["reachable"] and not page["reasons"]
        for keyword, count in page["keywords"].items()
    ]


def test_the_right_rows_are_right_in_any_order_and_under_any_alias() -> None:
    rows = right_rows()
    assert len(rows) > 100
    assert compare(reversed(rows), TRUTH).exact
    aliases = {page["url"]: page["aliases"][0] for site in TRUTH["sites"] for page in site["pages"] if page["aliases"]}
    assert aliases
    assert compare([(aliases.get(url, url), keyword, count) for url, keyword, count in rows], TRUTH).exact


def test_every_kind_of_mistake_is_named() -> None:
    rows = right_rows()
    (url, keyword, count), *others = rows
    assert compare(others, TRUTH).missing == ((url, keyword, count),)
    assert compare([(url, keyword, count + 1), *others], TRUTH).wrong == ((url, keyword, count, count + 1),)
    assert compare([*rows, rows[0]], TRUTH).duplicates == (rows[0],)
    stray = ("http://site-0001.test/nowhere", "CRM", 1)
    assert compare([*rows, stray], TRUTH).extra == (stray,)


def judged_rows() -> list[dict[str, Any]]:
    pages = [page for site in TRUTH["sites"] for page in site["pages"] if page["reachable"] and not page["reasons"]]
    return [
        {
            "url": page["url"],
            "keyword": keyword,
            "frequency": count,
            "verdict": page["verdicts"][keyword],
            "position": page["positions"][keyword],
        }
        for page in pages
        for keyword, count in page["keywords"].items()
    ]


def test_wrong_verdicts_and_positions_are_named() -> None:
    first, *others = judged_rows()
    assert compare_verdicts([first, *others], TRUTH).exact
    where = first["url"], first["keyword"]
    outcome = compare_verdicts([first | {"verdict": "maybe", "position": "margin"}, *others], TRUTH)
    assert outcome.misjudged == ((*where, first["verdict"], "maybe"), (*where, first["position"], "margin"))
    assert not outcome.exact
    assert compare_verdicts(others, TRUTH).missing == ((*where, first["frequency"]),)
    stray = first | {"url": "http://site-0001.test/nowhere"}
    assert compare_verdicts([first, *others, stray], TRUTH).extra == ((stray["url"], *where[1:], first["frequency"]),)


def test_sites_that_came_out_otherwise_are_named() -> None:
    sites = [
        {
            "host": site["host"],
            "state": site["expect"]["state"],
            "reason": (site["expect"]["reasons"] or [""])[-1],
            "size": site["size"] or 0,
            "size_source": site["size_source"] or "",
        }
        for site in TRUTH["sites"]
    ]
    assert compare_sites(sites, TRUTH) == []
    first, *others = sites
    assert first["state"] == "done"
    assert compare_sites(others, TRUTH) == [f"{first['host']} is missing"]
    wrong = [{**first, "state": "partial", "size": first["size"] + 1}, *others]
    assert compare_sites(wrong, TRUTH) == [
        f"{first['host']} is partial, not done",
        f"{first['host']} has size {first['size'] + 1}, not {first['size']}",
    ]
    failed = next(site for site in sites if site["state"] == "failed")
    assert len(compare_sites([*sites, failed | {"reason": "DNS"}], TRUTH)) == 1


def test_a_row_from_a_page_out_of_reach_is_extra() -> None:
    hidden = next(
        (page["url"], keyword, count)
        for site in TRUTH["sites"]
        for page in site["pages"]
        if not page["reachable"]
        for keyword, count in page["keywords"].items()
    )
    assert compare([*right_rows(), hidden], TRUTH).extra == (hidden,)


def write(log: Path, *requests: tuple[float, str, str]) -> Path:
    lines = [
        json.dumps(
            {
                "t": at,
                "host": host,
                "path": path,
                "status": 200,
                "ua": "x",
                "domain": host.split(".", host.count(".") - 1)[-1],
            }
        )
        for at, host, path in requests
    ]
    log.write_text("\n".join(lines) + "\n")
    return log


def test_gaps_are_by_domain_not_by_host(tmp_path: Path) -> None:
    log = write(
        tmp_path / "l",
        (10.0, "blog.pair-0015.test", "/"),
        (12.5, "site-0001.test", "/"),
        (11.0, "shop.pair-0015.test", "/"),
        (14.0, "blog.pair-0015.test", "/x"),
    )
    assert smallest_gaps(log) == {"pair-0015.test": pytest.approx(1.0)}


async def test_a_web_that_did_not_look_proves_no_gap(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    async with serve(WEB, log=log) as running:
        clients = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(2)]
        await asyncio.sleep(0.1)
        for client in clients:
            client.sendall(b"GET /robots.txt HTTP/1.1\r\nHost: site-0001.test\r\n\r\n")
        time.sleep(0.3)
        await asyncio.sleep(0.1)
        for client in clients:
            client.close()
    first, second = read_log(log)
    assert second.t - first.t < 0.1
    assert first.late > 0.2
    assert smallest_gaps(log)["site-0001.test"] > 0.2


def test_a_line_cut_short_is_left_out(tmp_path: Path) -> None:
    log = write(tmp_path / "l", (1.0, "site-0001.test", "/"))
    with log.open("a") as file:
        file.write('{"t": 3.0, "host": "si')
    assert len(list(read_log(log))) == 1


async def test_forbidden_requests_are_found_in_the_log_of_a_real_server(tmp_path: Path) -> None:
    site = next(site for site in TRUTH["sites"] if site["disallowed"] and site["expect"]["state"] == "done")
    host, forbidden = site["disallowed"][0].removeprefix("http://").split("/", 1)
    log = tmp_path / "log.jsonl"
    async with serve(WEB, log=log) as running:
        await ask(running.port, host, "/robots.txt")
        await ask(running.port, host, "/")
        await ask(running.port, host, f"/{forbidden}")
        await ask(running.port, "client-acme.test", "/")
        await ask(running.port, "blog.rival-south.test", "/x")
    found = forbidden_requests(log, TRUTH)
    assert [(request.host, request.path) for request in found] == [
        (host, f"/{forbidden}"),
        ("client-acme.test", "/"),
        ("blog.rival-south.test", "/x"),
    ]


async def test_a_site_that_shuts_everything_may_be_asked_for_robots_txt_alone(tmp_path: Path) -> None:
    web = SampleWeb(sites=120, seed=6, nasty=1.0)
    number = next(n for n in web.sites.numbers if web.sites.profile(n).home_quirk == "robots-broken")
    host = web.sites.profile(number).name.primary
    log = tmp_path / "log.jsonl"
    async with serve(web, log=log) as running:
        assert (await ask(running.port, host, "/robots.txt")).status == 500
        await ask(running.port, host, "/sitemap.xml")
    assert [request.path for request in forbidden_requests(log, web.truth())] == ["/sitemap.xml"]
