"""Extraction rules that take long: they end their own page and keep nobody else waiting."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gossamer.analyze.rules import read_rules
from gossamer.app import open_app
from gossamer.crawl.audit import audit
from gossamer.crawl.extraction import Extraction, RuleSet
from gossamer.model.document import Response
from gossamer.model.states import PageState
from gossamer.model.trouble import Reason, Trouble
from gossamer.recipes.page_results import read_results
from gossamer.recipes.scrape import SCRAPE
from gossamer.settings import Settings
from tests.crawl.test_scrape import BackgroundSlots, Town
from tests.pages import document

# Looks at all paragraphs for each pair of paragraphs.
HOSTILE = "//p[count(following::p[count(preceding::p)>1])>0]"
PAGE = "<html lang=en><body><h1>Lamp</h1>" + "<p>Readable words about lamps.</p>" * 30_000
EASY, COSTLY = {"title": "h1"}, {"title": "//h1[contains(., 'Lamp')]"}


def response(body: str = PAGE) -> Response:
    headers = {"content-type": "text/html; charset=utf-8"}
    return Response("http://a.test/", "http://a.test/", 200, headers, body.encode(), "direct", datetime.now(UTC))


def rules(given: dict[str, Any], account: str = "default") -> RuleSet:
    return RuleSet(read_rules(given), account)


@asynccontextmanager
async def extraction(longest: float = 1.0, at_first: float = 0.1) -> AsyncIterator[Extraction]:
    opened = Extraction(longest, at_first)
    try:
        yield opened
    finally:
        await opened.close()


class Pulse:
    """How long the event loop has stood still at most."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def feel(self) -> None:
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.005)
            self.longest = max(self.longest, time.monotonic() - before - 0.005)


@contextmanager
def pulse() -> Iterator[Pulse]:
    felt = Pulse()
    task = asyncio.get_running_loop().create_task(felt.feel())
    try:
        yield felt
    finally:
        task.cancel()


def children() -> set[int]:
    """Processes that extract for this one."""
    listed = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    lines = [line.split(None, 2) for line in listed.splitlines()[1:]]
    return {
        int(pid) for pid, parent, args in lines if int(parent) == os.getpid() and "gossamer.crawl.rule_process" in args
    }


async def test_a_rule_that_takes_long_ends_its_page_and_is_named() -> None:
    async with extraction() as opened:
        given = rules({"title": "h1", "list": {"css": "body", "fields": {"all": HOSTILE}}})
        with pulse() as felt:
            answer = await opened.fields(given, response())
        assert isinstance(answer, Trouble)
        assert answer.reason is Reason.EXTRACTION
        assert answer.detail == 'rule "list.all": more than 1 seconds of computing'
        assert felt.longest < 2  # it stood for minutes
        # And what comes next finds a process in the place of the one that was ended.
        assert await opened.fields(rules(COSTLY), response()) == {"title": "Lamp"}


async def test_other_rules_do_not_wait_for_those_that_take_long() -> None:
    async with extraction(longest=60.0) as opened:
        attacks = [
            asyncio.create_task(opened.fields(rules({f"n{number}": HOSTILE}), response())) for number in range(6)
        ]
        try:
            done, _ = await asyncio.wait([asyncio.create_task(opened.fields(rules(COSTLY), response()))], timeout=45)
            assert [one.result() for one in done] == [{"title": "Lamp"}]
            assert not any(one.done() for one in attacks)
        finally:
            for one in attacks:
                one.cancel()
            await asyncio.wait(attacks)
    assert not children()


async def test_a_rule_that_kills_its_process_ends_its_page_only() -> None:
    async with extraction(longest=60.0, at_first=60.0) as opened:
        assert await opened.fields(rules(COSTLY), response()) == {"title": "Lamp"}
        asked = asyncio.create_task(opened.fields(rules({"all": HOSTILE}), response()))
        await asyncio.sleep(0.3)
        (child,) = children()
        os.kill(child, signal.SIGKILL)
        answer = await asked
        assert isinstance(answer, Trouble)
        assert answer.detail == 'rule "all": it ended its process'
        assert await opened.fields(rules(COSTLY), response()) == {"title": "Lamp"}


async def test_a_process_that_was_ended_while_it_waited_costs_no_page() -> None:
    async with extraction(longest=60.0, at_first=60.0) as opened:
        assert await opened.fields(rules(COSTLY), response()) == {"title": "Lamp"}
        (child,) = children()
        os.kill(child, signal.SIGKILL)
        async with asyncio.timeout(30):
            while children():
                await asyncio.sleep(0.05)
        assert await opened.fields(rules(COSTLY), response()) == {"title": "Lamp"}


async def test_rules_that_were_stopped_for_one_account_are_tried_for_another() -> None:
    """The same rules on somebody else's pages: a short page is read, however long theirs were."""
    given = {"all": HOSTILE}
    async with extraction(longest=0.5) as opened:
        for _ in range(3):
            assert isinstance(await opened.fields(rules(given, "hostile"), response()), Trouble)
        short = response("<html><body><p>One</p></body></html>")
        assert isinstance(await opened.fields(rules(given, "hostile"), short), Trouble)
        assert not isinstance(await opened.fields(rules(given, "victim"), short), Trouble)


async def test_rules_that_were_stopped_again_and_again_are_not_tried_on_every_page() -> None:
    async with extraction(longest=0.5) as opened:
        given = rules({"all": HOSTILE})
        answers = await asyncio.gather(*(opened.fields(given, response()) for _ in range(200)))
        assert all(isinstance(one, Trouble) for one in answers)  # each of them would take half a second


async def test_processes_that_extract_do_not_outlive_a_worker_that_was_killed(tmp_path: Path) -> None:
    program = (
        "import asyncio; from tests.crawl.test_extraction import *\n"
        "async def main():\n"
        "    opened = Extraction(4.0, 4.0)\n"
        "    await opened.fields(rules(COSTLY), response())\n"
        "    asked = asyncio.create_task(opened.fields(rules({'all': HOSTILE}), response()))\n"
        "    await asyncio.sleep(0.3)\n"
        "    print(*children(), flush=True)\n"
        "    await asked\n"
        "asyncio.run(main())\n"
    )
    worker = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        assert worker.stdout
        started = {int(one) for one in (await asyncio.to_thread(worker.stdout.readline)).split()}
        assert started
    finally:
        worker.kill()
        await asyncio.to_thread(worker.communicate)
    async with asyncio.timeout(120):
        while any(_is_extracting(one) for one in started):
            await asyncio.sleep(0.05)


def _is_extracting(process: int) -> bool:
    try:
        return b"rule_process" in Path(f"/proc/{process}/cmdline").read_bytes()
    except FileNotFoundError:
        return False


def test_plain_rules_are_run_at_once_and_others_are_not() -> None:
    for plain in (
        "h1",
        ".a > .b c",
        "[itemprop=price]",
        "//h1/text()",
        "(//li)[3]",
        {"xpath": "count(//li)"},
        "//a[@rel='x']/@href",
    ):
        assert rules({"field": plain}).fields_now(document("<h1>Lamp</h1>")) is not None, plain
    for other in ("p ~ p", "div:has(p)", HOSTILE, "//p[contains(., 'x')]", "//p/ancestor::div", "//a/..", "a b c d e"):
        assert rules({"field": other}).fields_now(document("<h1>Lamp</h1>")) is None, other
    assert rules({"field": "h1"}).fields_now(document("<h1>Lamp</h1>" + "<p>word</p>" * 100_000)) is None


def test_plain_rules_inside_each_other_are_run_at_once_for_a_moment_only() -> None:
    every = {"css": "p", "list": True}
    nested = rules({"a": {**every, "fields": {"b": {"xpath": "//p", "list": True}}}})
    began = time.monotonic()
    assert nested.fields_now(document("<p>word</p>" * 4_000)) is None
    assert time.monotonic() - began < 5


class LargeTown(Town):
    def answer(self, path: str) -> tuple[int, dict[str, str], str]:
        return 200, {}, PAGE if path == "/large" else PAGE[:3_000]


async def test_a_job_says_which_rule_has_stopped_a_page_and_goes_on(tmp_path: Path) -> None:
    server = await asyncio.start_server((town := LargeTown()).serve, "127.0.0.1", 0)
    place = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    settings = Settings(home=tmp_path, domain_rate=200, connect_to=f"*.test={place}")
    urls = ["http://a.test/large", "http://a.test/small"]
    async with server, open_app(settings) as app:
        rule = {"title": "h1", "count": {"xpath": f"count({HOSTILE})", "type": "number"}}
        job = await BackgroundSlots(app, town).scrape(urls, formats=["extract"], rules=rule)
        large, small = await read_results(app.database, job, SCRAPE.kinds[0].name, urls)
        assert large.state is PageState.FAILED
        assert large.error == 'Extraction stopped (rule "count": more than 5 seconds of computing)'
        assert (large.tries, small.state) == (1, PageState.DONE)
        assert small.data["extract"]["title"] == "Lamp"
        assert (await audit(app.database, job, app.recipes)).clean
