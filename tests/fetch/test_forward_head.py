"""Heads that pass the forward proxy: two readers of one must not disagree about where its body ends."""

import pytest

from gossamer.fetch.forward_proxy.head import read_answer, read_request


def test_where_a_body_ends_is_said_on_whoever_wants_it_left_out() -> None:
    asked = read_request(
        b"POST http://a.test/ HTTP/1.1\r\nConnection: content-length, x-mine\r\nContent-Length: 44\r\nX-Mine: 1\r\n\r\n"
    )
    assert asked.length == 44
    onward = asked.onward("/", "a.test")
    assert b"Content-Length: 44\r\n" in onward
    assert b"X-Mine" not in onward
    answered = read_answer(b"HTTP/1.1 200 OK\r\nConnection: transfer-encoding\r\nTransfer-Encoding: chunked\r\n\r\n")
    assert answered.is_coded
    assert b"Transfer-Encoding: chunked\r\n" in answered.onward()


@pytest.mark.parametrize("coded", ["\u00e9", "====", "a", ""])
def test_credentials_that_cannot_be_read_are_none(coded: str) -> None:
    raw = f"GET http://a.test/ HTTP/1.1\r\nProxy-Authorization: Basic {coded}\r\n\r\n"
    assert read_request(raw.encode("latin-1")).credentials == ("", "")
