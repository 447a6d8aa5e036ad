"""Decompression the client leaves to us."""

import gzip
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as some

from gossamer.fetch.body import CannotInflate, EndsEarly, inflaters_for

TEXT = b"politely " * 2_000


def raw_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


def undo(content_encoding: str, data: bytes, step: int = 1_000) -> bytes:
    pieces = [data[at : at + step] for at in range(0, len(data), step)]
    for layer in inflaters_for(content_encoding):
        pieces = [inner for piece in pieces for inner in layer.feed(piece)]
        layer.finish()
    return b"".join(pieces)


@pytest.mark.parametrize(
    ("content_encoding", "data"),
    [
        ("GZIP", gzip.compress(TEXT, mtime=0)),
        ("x-gzip", gzip.compress(TEXT, mtime=0)),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", raw_deflate(TEXT)),
        ("deflate, gzip", gzip.compress(zlib.compress(TEXT), mtime=0)),
        ("gzip, gzip", gzip.compress(gzip.compress(TEXT, mtime=0), mtime=0)),
        ("identity", TEXT),
        ("utf-8", TEXT),
        ("none", TEXT),
    ],
)
def test_every_known_spelling_is_undone(content_encoding: str, data: bytes) -> None:
    assert undo(content_encoding, data) == TEXT


@given(some.binary(max_size=5_000), some.integers(min_value=1, max_value=600))
def test_it_does_not_matter_how_the_bytes_are_cut(data: bytes, step: int) -> None:
    assert undo("gzip", gzip.compress(data), step) == data
    assert undo("deflate", zlib.compress(data), step) == data
    assert undo("deflate", raw_deflate(data), max(step, 2)) == data


def test_bytes_after_the_end_are_ignored_as_browsers_do() -> None:
    assert undo("gzip", gzip.compress(TEXT) + b"trailing") == TEXT


def test_an_empty_body_is_an_empty_page() -> None:
    assert undo("gzip", b"") == b""


def test_a_stream_that_stops_early_says_so() -> None:
    with pytest.raises(EndsEarly):
        undo("gzip", gzip.compress(TEXT)[:-9])


@pytest.mark.parametrize("content_encoding", ["gzip", "deflate"])
def test_what_is_not_compressed_cannot_be_inflated(content_encoding: str) -> None:
    with pytest.raises(CannotInflate):
        undo(content_encoding, b"\xff<html>not compressed at all</html>" * 20)


@pytest.mark.parametrize("content_encoding", ["BR", "compress", "gzip, Zstd"])
def test_what_nobody_here_can_read_is_said_at_once(content_encoding: str) -> None:
    with pytest.raises(CannotInflate):
        inflaters_for(content_encoding)


def test_a_bomb_comes_in_small_pieces() -> None:
    bomb = gzip.compress(bytes(50_000_000), compresslevel=1)
    (layer,) = inflaters_for("GZIP")
    tracemalloc.start()
    largest = max(len(piece) for piece in layer.feed(bomb))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert largest <= 65_536
    assert peak < 2_000_000
