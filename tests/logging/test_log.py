"""What a log call becomes: one line, in either form, in the right place, without loading anything before it must."""

import asyncio
import io
import json
import logging
import os
import re
import stat
import subprocess
import sys
import threading
from pathlib import Path
from uuid import UUID

import pytest

from gossamer.logging import bound, configure, get_logger
from gossamer.logging import log as log_module
from gossamer.model.ids import short

log = get_logger("gossamer.tests")


pytestmark = pytest.mark.usefixtures("logging_as_it_was")


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


def objects(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_the_line_people_read(stream: io.StringIO) -> None:
    configure("line", "INFO", stream=stream)
    with bound(job="abc123", visit="0f1e2d3c", lane="http", worker="w-42", url="https://example.com/page"):
        log.error("ScrapingBee: HTTP 429 Rate Limit Exceeded")
        log.error("provider.error", said="ScrapingBee: HTTP 503 Service Unavailable", status=503)
    first, second = stream.getvalue().splitlines()
    leading = "[ERROR] Job:abc123 Worker:w-42 URL:example.com/page ScrapingBee: HTTP"
    assert first.partition(" ")[2] == f"{leading} 429 Rate Limit Exceeded visit=0f1e2d3c lane=http"
    assert second.partition(" ")[2] == f"{leading} 503 Service Unavailable visit=0f1e2d3c lane=http"
    stream.truncate(0)
    stream.seek(0)
    with bound(url="https://example.com/page", worker="w-42", job="abc123"):
        log.error("ScrapingBee: HTTP 429 Rate Limit Exceeded")
    stamp, _, rest = stream.getvalue().partition(" ")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", stamp)
    assert rest == "[ERROR] Job:abc123 Worker:w-42 URL:example.com/page ScrapingBee: HTTP 429 Rate Limit Exceeded\n"


def test_other_fields_come_after_the_event(stream: io.StringIO) -> None:
    configure("line", "INFO", stream=stream)
    job = UUID("0197f3a2-0000-7000-8000-00001234abcd")
    log.info(
        "page.climbed", rung="direct", url="http://a.com/x", why="a b", n=3, ok=True, none=None, visit=job, lane="http"
    )
    expected = (
        f'[INFO] URL:a.com/x page.climbed rung=direct why="a b" n=3 ok=true none=null visit={short(job)} lane=http\n'
    )
    assert stream.getvalue().partition(" ")[2] == expected


def test_the_object_programs_read(stream: io.StringIO) -> None:
    configure("json", "INFO", stream=stream)
    job = UUID("0197f3a2-0000-7000-8000-00001234abcd")
    log.bind(lane="http").warning("page.climbed", url="https://a.com/ü", job=job, sizes=[1, 2])
    (event,) = objects(stream)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", str(event.pop("timestamp")))
    assert event == {
        "level": "warning",
        "logger": "gossamer.tests",
        "event": "page.climbed",
        "lane": "http",
        "url": "https://a.com/ü",
        "job": str(job),
        "sizes": [1, 2],
    }


@pytest.mark.parametrize("form", ["line", "json"])
def test_nobody_writes_a_line_of_their_own(stream: io.StringIO, form: str) -> None:
    configure(form, "INFO", stream=stream)  # type: ignore[arg-type]
    evil = "x\n2025-01-19T14:23:45Z [ERROR] forged\r\x1b[2J\u2028\x85\x00"
    log.info(evil, url=evil, title=evil, nested={evil: [evil]})
    logging.getLogger("library").warning(evil)
    written = stream.getvalue()
    assert written.count("\n") == 2
    assert all(line.isprintable() for line in written.split("\n"))
    assert len(written.splitlines()) == 2


@pytest.mark.parametrize("form", ["line", "json"])
def test_secrets_are_hidden_in_both_forms_also_those_libraries_tell(stream: io.StringIO, form: str) -> None:
    configure(form, "INFO", stream=stream, secrets=["hunter2hunter2"])  # type: ignore[arg-type]
    log.info("called https://u:hunter1@a.com/?token=hunter1", api_key="hunter1", headers={"Cookie": "hunter1"})
    log.info("hunter2hunter2", url="https://a.com/?q=hunter2hunter2", nested=[{"x": "hunter2hunter2"}])
    logging.getLogger("library").error("POST %s failed", "https://u:hunter1@a.com/hunter2hunter2")
    try:
        raise RuntimeError("password=hunter1 hunter2hunter2")
    except RuntimeError:
        log.exception("call.failed")
        logging.getLogger("library").exception("call failed")
    written = stream.getvalue()
    assert "hunter1" not in written
    # The source line of the raise is part of the traceback, so the text itself must be hidden there too.
    assert "hunter2" not in written
    assert written.count("[redacted]") >= 10


def test_an_exception_brings_its_traceback_on_the_same_line(stream: io.StringIO) -> None:
    configure("line", "INFO", stream=stream)
    try:
        int("seven")
    except ValueError:
        log.exception("number.unreadable", url="https://a.com/")
    (line,) = stream.getvalue().splitlines()
    assert "[ERROR] URL:a.com/ number.unreadable" in line
    assert r"Traceback (most recent call last):\n" in line
    assert "ValueError: invalid literal for int() with base 10: 'seven'" in line


def test_levels(stream: io.StringIO) -> None:
    configure("json", "WARNING", stream=stream)
    for write in (log.debug, log.info, log.warning, log.error):
        write("said")
    logging.getLogger("library").info("not heard")
    logging.getLogger("library").warning("heard")
    assert [event["level"] for event in objects(stream)] == ["warning", "error", "warning"]
    configure("json", "debug", stream=stream)
    log.debug("said")
    logging.getLogger("library").info("not heard either")
    assert objects(stream)[3:] == [{**objects(stream)[3], "level": "debug", "event": "said"}]
    configure("json", "ERROR", stream=stream)
    logging.getLogger("library").warning("no longer heard")
    assert len(objects(stream)) == 4


def test_a_librarys_event_says_whose_it_is(stream: io.StringIO) -> None:
    configure("line", "INFO", stream=stream)
    logging.getLogger("wreq.client").warning("pool of %d is full", 5)
    assert stream.getvalue().partition(" ")[2] == "[WARNING] pool of 5 is full logger=wreq.client\n"


def test_configuring_again_moves_the_log(stream: io.StringIO, tmp_path: Path) -> None:
    configure("line", "INFO", stream=stream)
    log.info("first")
    configure("json", "INFO", file=tmp_path / "log")
    log.info("second")
    assert stream.getvalue().count("\n") == 1
    assert json.loads((tmp_path / "log").read_text())["event"] == "second"


def test_standard_error_is_looked_up_when_it_is_written_to(capsys: pytest.CaptureFixture[str]) -> None:
    configure()
    log.info("said")
    captured = capsys.readouterr()
    assert captured.err.endswith("[INFO] said\n")
    assert captured.out == ""


def test_a_terminal_that_cannot_show_a_letter_shows_its_number() -> None:
    raw = io.BytesIO()
    configure("line", "INFO", stream=io.TextIOWrapper(raw, encoding="ascii", write_through=True))
    log.info("Zoë ✓")
    assert raw.getvalue().endswith(b"[INFO] Zo\\xeb \\u2713\n")


def test_a_stream_that_fails_does_not_stop_the_work(capsys: pytest.CaptureFixture[str]) -> None:
    closed = io.StringIO()
    configure("line", "INFO", stream=closed)
    closed.close()
    log.info("said")
    assert "Logging error" in capsys.readouterr().err


def test_the_file_is_private_and_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "new" / "gossamer.log"
    before = os.umask(0)
    try:
        for number in range(2):
            configure("line", "INFO", file=path)
            log.info("said", number=number)
    finally:
        os.umask(before)
    assert [line.partition("number=")[2] for line in path.read_text().splitlines()] == ["0", "1"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_was_rotated_away_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "gossamer.log"
    configure("line", "INFO", file=path)
    log.info("old")
    path.rename(tmp_path / "gossamer.log.1")
    log.info("new")
    assert path.read_text().endswith("[INFO] new\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_cannot_be_meant_is_refused(stream: io.StringIO, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="LOUD"):
        configure("line", "LOUD", stream=stream)
    with pytest.raises(ValueError, match="xml"):
        configure("xml", stream=stream)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not to both"):
        configure(stream=stream, file=tmp_path / "log")
    with pytest.raises(OSError, match="directory"):
        configure(file=tmp_path)


def test_fields_may_have_any_name(stream: io.StringIO) -> None:
    configure("json", "INFO", stream=stream)
    log.info("said", event="x", level="y", logger="z", timestamp=1, name="n", msg="m", args=[1])
    (event,) = objects(stream)
    assert (event["event"], event["event_"], event["level"], event["level_"]) == ("said", "x", "info", "y")
    assert (event["name"], event["msg"], event["args"]) == ("n", "m", [1])


async def test_tasks_keep_their_fields_apart(stream: io.StringIO) -> None:
    configure("json", "INFO", stream=stream)

    async def visit(number: int) -> None:
        with bound(visit=number):
            for step in range(5):
                await asyncio.sleep(0)
                log.info("walked", step=step)

    with bound(job="j"):
        await asyncio.gather(*(visit(number) for number in range(20)))
    log.info("ended")
    *walked, ended = objects(stream)
    assert {(event["job"], event["visit"], event["step"]) for event in walked} == {
        ("j", number, step) for number in range(20) for step in range(5)
    }
    assert not {"job", "visit"} & ended.keys()


def test_what_the_process_is_called_is_known_in_its_threads(
    stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_module, "_process", {})
    configure("line", "INFO", stream=stream)
    log_module.bind(worker="w-1")
    threads = [threading.Thread(target=log.info, args=("said",)) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = stream.getvalue().splitlines()
    assert [line.partition(" ")[2] for line in lines] == ["[INFO] Worker:w-1 said"] * 10


def test_importing_and_configuring_load_nothing_heavy() -> None:
    program = """
import sys
from gossamer.logging import configure, get_logger
log = get_logger("gossamer.x")
configure("line", "INFO")
log.debug("not written")
heavy = {"structlog", "rich", "asyncio", "pydantic", "gossamer.model.url"} & sys.modules.keys()
assert not heavy, heavy
log.info("written")
assert "structlog" in sys.modules
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stderr
    assert ran.stderr.endswith("[INFO] written\n")


def test_a_full_disk_shows_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this system")
    configure(file=Path("/dev/full"))
    get_logger("gossamer.test").error("disk.full")
    configure(stream=io.StringIO())
    assert capsys.readouterr().err == ""
