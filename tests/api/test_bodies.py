"""Bodies that arrive in pieces: what is counted does not depend on where they are cut."""

import json
from contextlib import suppress
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from fastapi.routing import APIRoute

from gossamer.api import jobs, results
from gossamer.api.bodies import MOST_KEYS, MOST_VALUES, Bodies, Body, Shape
from gossamer.api.guarded import longest_list_of
from gossamer.errors import UserError

TEXTS = ["", "a", '"', "\\", '\\"', "a:b,c", "[{", "\\\\", "\u00e9", "x\n", '":"', "{}", "\U0001f578", "\\u0000"]


def _value(dice: Random, depth: int) -> Any:
    kind = dice.randrange(6 if depth else 3)
    if kind < 3:
        return dice.choice([1, None, True, dice.choice(TEXTS)])
    if kind == 3:
        return [_value(dice, depth - 1) for _ in range(dice.randrange(5))]
    return {f"{dice.choice(TEXTS)}{number}": _value(dice, depth - 1) for number in range(dice.randrange(5))}


def _keys(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(map(_keys, value.values()))
    return sum(map(_keys, value)) if isinstance(value, list) else 0


def _nested(value: Any) -> int:
    if isinstance(value, dict | list):
        return 1 + sum(map(_nested, value.values() if isinstance(value, dict) else value))
    return 0


def _pieces(dice: Random, body: bytes) -> list[bytes]:
    cuts = sorted({0, len(body), *(dice.randrange(len(body) + 1) for _ in range(dice.randrange(8)))})
    return [body[begin:end] for begin, end in pairwise(cuts)]


def test_fields_and_values_are_counted_wherever_it_is_cut() -> None:
    dice = Random(7)
    for _ in range(500):
        value = [_value(dice, 4)]
        body = json.dumps(value, ensure_ascii=dice.random() < 0.5).encode()
        shape = Shape(MOST_VALUES)
        for piece in _pieces(dice, body):
            shape.take(piece)
        assert (shape.keys, shape.nested) == (_keys(value), _nested(value)), body


def _sent(bodies: Bodies, pieces: list[bytes]) -> None:
    body = Body(bodies, sum(map(len, pieces)))
    try:
        body.open("somebody")
        for number, piece in enumerate(pieces):
            body.take(piece, more=number < len(pieces) - 1)
    finally:
        body.release()


@pytest.mark.parametrize(
    ("text", "is_text"),
    [
        (b'{"a": "\\ud83d\\udd78"}', True),
        (b'{"a": "\\uD83D\\uDD78\\uD83D\\uDD78"}', True),
        (b'{"a": "\\ud83d"}', False),
        (b'{"a": "x\\udd78"}', False),
        (b'{"a": "\\ud83d\\ud83d\\udd78"}', False),
        (b'{"a": "\\u0000"}', False),
        (b'{"a": "\\u0001 and words"}', True),
    ],
)
def test_what_is_no_text_is_found_wherever_it_is_cut(text: bytes, is_text: bool) -> None:
    bodies = Bodies(10_000)
    padded = b" " * 30 + text + b" " * 30
    for body in (text, padded):
        for cut in range(len(body) + 1):
            for second in range(cut, len(body) + 1):
                pieces = [body[:cut], body[cut:second], body[second:]]
                if is_text:
                    _sent(bodies, pieces)
                else:
                    with pytest.raises(UserError, match="halves of characters"):
                        _sent(bodies, pieces)
    assert bodies.held == 0


def test_values_are_as_many_as_thelongest_list_of_of_the_route_and_no_more() -> None:
    routes = [one for some in (jobs, results) for one in some.router.routes if isinstance(one, APIRoute)]
    longest = {one.path: longest_list_of(one.dependant) for one in routes if one.body_field}
    assert longest["/v1/jobs/{job_id}/exports"] == 200_000
    assert longest["/v1/jobs"] == 50_000
    bodies = Bodies(100_000_000)
    for path, taken in (("/v1/jobs", 110_000), ("/v1/jobs/{job_id}/exports", 250_000)):
        body = Body(bodies, 0)
        body.open("somebody", longest[path])
        body.take(b"1," * taken, more=True)
        with pytest.raises(UserError, match="more than"):
            body.take(b"1," * 20_000, more=True)
        body.release()


def test_what_has_too_many_parts_is_refused_early() -> None:
    bodies = Bodies(100_000_000)
    for piece in (b'"a":1,', b"1,", b"[", b"{"):
        body = Body(bodies, 0)
        body.open("somebody")
        for _ in range(max(MOST_KEYS, MOST_VALUES) // 10_000):
            with suppress(UserError):
                body.take(piece * 10_000, more=True)
        with pytest.raises(UserError, match="more than"):
            body.take(piece * 10_000, more=True)
        body.release()
    plain = Body(bodies, 0)
    plain.open("somebody")
    plain.take(b'"' + b"[{:,}]" * 1_000_000 + b'"', more=False)  # a text may say what it wants
    plain.release()
    assert bodies.held == 0
