"""Secrets do not reach the log, wherever in an event they hide, and what is no secret stays readable."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.logging.pipeline import as_json, as_line
from gossamer.logging.redact import HIDDEN, Redactor, names_a_secret
from gossamer.model.states import JobState
from gossamer.model.trouble import Cure


@pytest.mark.parametrize(
    "name",
    [
        "key",
        "api_key",
        "apiKey",
        "X-API-Key",
        "APIKEY",
        "token",
        "access_token",
        "accessToken",
        "refresh.token",
        "secret",
        "password",
        "PASSWORD",
        "db_password",
        "passwd",
        "client-secret",
        "secretKey",
        "authorization",
        "cookie",
        "cookies",
        "Proxy-Authorization",
        "Set-Cookie",
        "credentials",
        "signature",
        "GOSSAMER_SCRAPINGBEE_KEY",
    ],
)
def test_names_that_say_secret(name: str) -> None:
    assert names_a_secret(name)


@pytest.mark.parametrize(
    "name", ["keyword", "keywords", "monkey", "url", "job", "tokenizer", "secretary", "event", "passed", "author", ""]
)
def test_names_that_only_sound_like_it(name: str) -> None:
    assert not names_a_secret(name)


TEXTS = {
    "https://user:hunter2@a.com/x": "https://[redacted]@a.com/x",
    "redis://:hunter2@localhost:6379/0": "redis://[redacted]@localhost:6379/0",
    "postgresql://u:p@ss:word@db/x and http://t0ken@b.com": "postgresql://[redacted]@db/x and http://[redacted]@b.com",
    "GET https://a.com/?api_key=hunter2&url=b": "GET https://a.com/?api_key=[redacted]&url=b",
    "GET /v1?x=1&access_token=hunter2#top": "GET /v1?x=1&access_token=[redacted]",
    "?next=%2F&token%3Dhunter2": "?next=%2F&token%3D[redacted]",
    "Authorization: Bearer hunter2": "Authorization: [redacted]",
    "authorization=Basic aHVudGVyMg==": "authorization=[redacted]",
    "{'password': 'hunter2', 'user': 'joe'}": "{'password': '[redacted]', 'user': 'joe'}",
    '{"apiKey":"hunter2","n":1}': '{"apiKey":"[redacted]","n":1}',
    "Cookie: sid=hunter2; theme=dark": "Cookie: [redacted]",
    "Set-Cookie: sid=hunter2; Path=/\nServer: x": "Set-Cookie: [redacted]\nServer: x",
    "Error: token: hunter2": "Error: token: [redacted]",
    "x=1&token=hunter2&y=key=hunter2": "x=1&token=[redacted]&y=key=[redacted]",
    "sent bearer hunter2hunter2hunter2": "sent bearer [redacted]",
    "signed with whsec_hunter2hunter2+hunter2/x= today": "signed with [redacted] today",
}


@pytest.mark.parametrize(("text", "expected"), TEXTS.items())
def test_secrets_in_running_text(text: str, expected: str) -> None:
    assert Redactor().text(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "https://a.com/?keyword=crm&page=2",
        "info@a.com wrote to joe@b.com",
        "https://a.com/@joe/status",
        "Gate key: a.com",
        "HTTP 429: Rate Limit Exceeded",
        "12:30:45",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert Redactor().text(text) == text


def test_known_secrets_are_hidden_everywhere_and_however_written() -> None:
    redactor = Redactor()
    redactor.learn(["hunter2", "hunter2hunter2", "p@ss/word 1", "", "abc"])
    redactor.learn(["later"])
    assert redactor.text("hunter2hunter2 hunter2") == f"{HIDDEN} {HIDDEN}"
    assert redactor.text("x p@ss/word 1 p%40ss%2Fword%201 p%40ss%2Fword+1") == f"x {HIDDEN} {HIDDEN} {HIDDEN}"
    assert redactor.text("abc is too short to be told from a word") == "abc is too short to be told from a word"
    assert redactor.plain({"hunter2": ["sooner or later"]}) == {HIDDEN: [f"sooner or {HIDDEN}"]}


def test_values_become_plain() -> None:
    plain = Redactor().plain
    when = datetime(2025, 1, 19, 14, 23, 45, tzinfo=UTC)
    assert plain({"at": when, 3: timedelta(seconds=1.5)}) == {"at": "2025-01-19T14:23:45+00:00", "3": "1.5s"}
    assert plain((1, 2.5, True, None, "x")) == [1, 2.5, True, None, "x"]
    assert plain([float("nan"), float("inf")]) == ["nan", "inf"]
    assert plain(UUID(int=5)) == "00000000-0000-0000-0000-000000000005"
    assert plain(Path("/a/b")) == "/a/b"
    assert plain(JobState.RUNNING) == "RUNNING"
    assert plain(Cure.WAIT) == "WAIT"
    assert plain(b"a\xff") == "a\\xff"
    assert plain(ValueError("token=hunter2")) == f"ValueError: token={HIDDEN}"
    assert plain("\ud800") == "\\ud800"


def test_whatever_a_field_called_secret_holds_is_hidden() -> None:
    plain = Redactor().plain
    headers = {"Authorization": "x", "Cookie": ["a", "b"], "X-Api-Key": 5, "Accept": "*/*", "token": None, "key": ""}
    assert plain({"headers": headers}) == {
        "headers": {
            "Authorization": HIDDEN,
            "Cookie": HIDDEN,
            "X-Api-Key": HIDDEN,
            "Accept": "*/*",
            "token": None,
            "key": "",
        }
    }


class Hostile:
    """As unhelpful as an object can be to somebody who only wants to log it."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


class HostileError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


def endless() -> Iterator[int]:
    yield from iter(int, 1)


def test_nothing_is_too_odd_or_too_large() -> None:
    plain = Redactor().plain
    assert "Hostile" in str(plain(Hostile()))
    assert "HostileError" in str(plain(HostileError()))
    assert "generator" in str(plain(endless()))
    assert len(str(plain("x" * 10_000_000))) <= 8 * 1024
    assert len(str(plain("a@b" + "x" * 10_000_000))) <= 8 * 1024
    assert len(plain(list(range(100_000)))) == 100  # type: ignore[arg-type]
    round_trip: list[object] = []
    round_trip.append(round_trip)
    assert "…" in str(plain(round_trip))


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.datetimes() | st.uuids(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(fields=st.dictionaries(st.text(max_size=12), anything, max_size=5))
@settings(deadline=None)
def test_any_event_becomes_one_line_of_each_form(fields: dict[str, object]) -> None:
    redactor = Redactor()
    frame = {"timestamp": "2025-01-19T14:23:45Z", "level": "info", "logger": "gossamer.x", "event": "tried"}
    plain = {redactor.text(name): redactor.plain(value, name) for name, value in fields.items()} | frame
    assert as_line(plain).isprintable()
    line = as_json(plain)
    assert line.isascii()
    assert "\n" not in line
    assert orjson.loads(line)["event"] == "tried"


@given(
    secret=st.text(st.characters(codec="ascii", categories=["Lu", "Ll", "Nd"]), min_size=8, max_size=30),
    before=st.text(max_size=30),
    after=st.text(max_size=30),
)
@settings(deadline=None)
def test_a_known_secret_never_comes_through(secret: str, before: str, after: str) -> None:
    redactor = Redactor()
    redactor.learn([secret])
    said = redactor.text(f"{before}{secret}{after}")
    assert secret not in said.replace(HIDDEN, "")
