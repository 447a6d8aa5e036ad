"""The server itself: connections, the log, the command line."""

import asyncio
import json
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from gossamer_sandbox.web import Caps, SampleWeb, serve
from gossamer_sandbox.web.answer import Answer, Sending
from gossamer_sandbox.web.proof import read_log
from gossamer_sandbox.web.wire import reply_of
from tests.sandbox.web.asking import PATIENCE, ask, dial

WEB = SampleWeb(sites=30, nasty=0)


async def test_one_connection_answers_for_many_hosts() -> None:
    async with serve(WEB) as running:
        line = await dial(running.port)
        for host in [WEB.sites.profile(number).name.primary for number in range(1, 20)]:
            got = await line.ask(host, "/", gzip=True)
            assert got.status == 200
            assert got.content.rstrip().endswith(b"</html>")
        await line.close()


async def test_requests_sent_in_one_go_are_answered_in_order() -> None:
    web = SampleWeb(sites=140, seed=1, nasty=1.0, slow_seconds=0.05)
    number = next(n for n in web.sites.numbers if web.sites.profile(n).home_quirk == "slow")
    host = web.sites.profile(number).name.primary
    async with serve(web) as running:
        line = await dial(running.port)
        paths = ("/", "/robots.txt", "/no/such/page")
        line.writer.write("".join(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n" for path in paths).encode())
        statuses = [(await line.receive()).status for _ in paths]
        await line.close()
    assert statuses[0] == 200
    assert statuses[2] == 404


async def test_some_pages_are_gzipped_some_chunked_and_all_the_same_to_the_reader() -> None:
    encodings, framings = set(), set()
    async with serve(WEB) as running:
        for number in WEB.sites.numbers:
            host = WEB.sites.profile(number).name.primary
            for path in list(WEB.sites.site(number).pages)[:3]:
                packed, plain = await ask(running.port, host, path, gzip=True), await ask(running.port, host, path)
                assert packed.content == plain.body
                assert "content-encoding" not in plain.headers
                encodings.add(packed.headers.get("content-encoding"))
                framings.add(packed.headers.get("transfer-encoding"))
    assert encodings == {None, "gzip"}
    assert framings == {None, "chunked"}


async def test_head_has_no_body_and_the_connection_goes_on() -> None:
    async with serve(WEB) as running:
        line = await dial(running.port)
        head = await line.ask("site-0001.test", "/", method="HEAD")
        assert head.status == 200
        assert (await line.ask("site-0001.test", "/")).status == 200
        await line.close()


async def test_a_tls_handshake_is_hung_up_on_and_not_logged(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    async with serve(WEB, log=log) as running:
        line = await dial(running.port)
        line.writer.write(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        async with asyncio.timeout(PATIENCE):
            with suppress(ConnectionResetError):  # that is hanging up just as well
                assert await line.reader.read() == b""
        line.writer.close()
    assert log.read_bytes() == b""


async def test_nonsense_is_refused() -> None:
    async with serve(WEB) as running:
        for nonsense in (b"hello\r\n\r\n", b"GET nothing HTTP/1.1\r\n\r\n", b"x" * 70_000):
            line = await dial(running.port)
            line.writer.write(nonsense)
            assert (await line.receive()).status == 400
            line.writer.close()


async def test_hosts_outside_answer_and_unknown_ones_do_not() -> None:
    async with serve(WEB) as running:
        assert (await ask(running.port, "client-acme.test", "/")).status == 200
        assert (await ask(running.port, "site-9999.test", "/")).status == 404
        assert (await ask(running.port, "SITE-0001.TEST:8080", "/")).status == 200


async def test_the_log_has_every_request(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    before = time.time()
    async with serve(WEB, log=log) as running:
        await ask(running.port, "blog.pair-0015.test", "/?utm_source=b", agent="Agent/1.0")
        await ask(running.port, "site-0001.test", "/no/such")
    first, second = read_log(log)
    assert (first.host, first.path, first.status, first.ua, first.domain) == (
        "blog.pair-0015.test", "/?utm_source=b", 200, "Agent/1.0", "pair-0015.test",
    )  # fmt: skip
    assert (second.path, second.status) == ("/no/such", 404)
    assert before <= first.t <= second.t <= time.time()


async def test_the_log_is_written_while_the_server_runs(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    async with serve(WEB, log=log) as running:
        await ask(running.port, "site-0001.test", "/")
        async with asyncio.timeout(PATIENCE):
            while not log.read_bytes():
                await asyncio.sleep(0.05)


def test_a_reply_that_is_cut_promises_more_than_it_has() -> None:
    short = reply_of(Answer(200, body=b"x" * 100, sending=Sending.SHORT), gzip=False)
    assert b"Content-Length: 10100\r\n" in short.rest
    assert short.ends_connection


async def test_it_listens_where_it_is_told_to() -> None:
    """So that other machines can ask it."""
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "gossamer_sandbox.web", "--sites", "2", "--host", "127.0.0.2",
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert server.stdout is not None
    async with asyncio.timeout(PATIENCE * 2):
        port = int((await server.stdout.readline()).decode().partition("=")[2])
        reader, writer = await asyncio.open_connection("127.0.0.2", port)
        writer.write(b"GET /robots.txt HTTP/1.1\r\nHost: site-0001.test\r\nConnection: close\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 ")
        writer.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)
        server.send_signal(signal.SIGTERM)
        assert await server.wait() == 0


@pytest.mark.parametrize("processes", [1, 2])
async def test_the_command_line_serves_until_it_is_told_to_stop(tmp_path: Path, processes: int) -> None:
    files = {name: tmp_path / name for name in ("truth", "log", "domains", "keywords")}
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "gossamer_sandbox.web", "--sites", "40", "--port", "0", "--seed", "3",
        *(part for name, path in files.items() for part in (f"--{name}", str(path))),
        "--pages-per-site", "9", "--depth", "4", "--top-pages", "7", "--exclude", "/private*",
        "--nasty", "0.5", "--size-min", "5", "--size-max", "8",
        "--retry-after-max", "1", "--slow-seconds", "0.1", "--processes", str(processes),
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert server.stdout is not None
    async with asyncio.timeout(PATIENCE * 2):
        ready = (await server.stdout.readline()).decode()
        assert ready.startswith("ready port=")
        port = int(ready.partition("=")[2])
        web = SampleWeb(sites=40, seed=3, nasty=0.5, size_min=5, size_max=8, retry_after_max=1, slow_seconds=0.1)
        expected = web.truth(Caps(9, 4, top_pages=7, exclude=("/private*",)))
        assert json.loads(files["truth"].read_text()) == json.loads(json.dumps(expected))
        assert files["domains"].read_text(encoding="utf-8").split("\n") == [*web.domains(), ""]
        assert files["keywords"].read_text(encoding="utf-8").split("\n") == [*web.keywords, ""]
        for _ in range(20):
            assert (await ask(port, "site-0001.test", "/robots.txt")).status > 0
        server.send_signal(signal.SIGTERM)
        assert await server.wait() == 0
    assert len(list(read_log(files["log"]))) == 20
