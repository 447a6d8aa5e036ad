"""Lines as CSV, JSON and JSON lines: from batches of lines to bytes, one batch in memory at a time."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import orjson

from gossamer.exports.encoding import Draft
from gossamer.exports.formula import PREFIX, RISKY
from gossamer.recipes.base import Line, Lines

_BOM = "\ufeff"
_FEW = 250  # lines


async def encode_csv(lines: Lines, draft: Draft) -> AsyncIterator[bytes]:
    """RFC 4180 with a header line, CRLF, UTF-8."""
    before = (_BOM if draft.looks.bom else "") + ",".join(column.name for column in draft.columns) + "\r\n"
    async for some in lines:
        yield (before + csv_lines(some, draft)).encode()
        before = ""
    if before:
        yield before.encode()


def csv_lines(some: Sequence[Line], draft: Draft) -> str:
    """Column by column: the library's writer looks at every letter one by one, which takes five times as long."""
    risky = frozenset() if draft.looks.raw else RISKY
    columns = [
        _quoted(cells, risky) if column.kind in ("text", "url") else _plain(cells)
        for column, cells in zip(draft.columns, zip(*some, strict=True), strict=True)
    ]
    if len(columns) == 1:
        # A line with nothing in it at all would be no line.
        columns = [[cell or '""' for cell in columns[0]]]
    return "\r\n".join(map(",".join, zip(*columns, strict=True))) + "\r\n"


def _quoted(cells: Sequence[Any], risky: frozenset[str]) -> list[str]:
    return [
        cell
        if cell
        and cell[0] not in risky
        and '"' not in cell
        and "," not in cell
        and "\n" not in cell
        and "\r" not in cell
        else _careful(cell, risky)
        for cell in cells
    ]


def _careful(cell: str | None, risky: frozenset[str]) -> str:
    if not cell:
        return ""
    text = PREFIX + cell if cell[0] in risky else cell
    if '"' in text:
        text = text.replace('"', '""')
    elif "," not in text and "\n" not in text and "\r" not in text:
        return text
    return f'"{text}"'


def _plain(cells: Sequence[Any]) -> list[str]:
    return ["" if cell is None else str(cell) for cell in cells]


async def encode_jsonl(lines: Lines, draft: Draft) -> AsyncIterator[bytes]:
    """One flat object a line."""
    objects_of = objects_with([column.name for column in draft.columns])
    ended = orjson.OPT_APPEND_NEWLINE
    async for batch in lines:
        for some in _few(batch):
            yield b"".join([orjson.dumps(one, None, ended) for one in objects_of(some)])


def _few(batch: Sequence[Line]) -> Iterator[Sequence[Line]]:
    """Each piece that is written takes ten times its size for a moment, so not many at a time."""
    return (batch[at : at + _FEW] for at in range(0, len(batch), _FEW))


def objects_with(names: Sequence[str], after: int = 0) -> Callable[[Sequence[Line]], list[dict[str, Any]]]:
    """From lines to objects with these names for the cells, but for the first ones.

    Written out for these very names, as the library does for named tuples: `dict(zip(names, line))` takes twice as
    long, and a file of a million lines is made of little else.
    """
    cells = [f"cell_{at}" for at in range(after + len(names))]
    pairs = ", ".join(f"{name!r}: {cell}" for name, cell in zip(names, cells[after:], strict=True))
    made: Callable[[Sequence[Line]], list[dict[str, Any]]] = eval(  # noqa: S307 - of names that stand in our own code
        f"lambda lines: [{{{pairs}}} for {', '.join(cells)}, in lines]"
    )
    return made


def encode_json(lines: Lines, draft: Draft) -> AsyncIterator[bytes]:
    """One JSON value: keyed as the table says, else a list of objects."""
    return _keyed(lines, draft) if draft.table.nested else _listed(lines, draft)


async def _listed(lines: Lines, draft: Draft) -> AsyncIterator[bytes]:
    objects_of = objects_with([column.name for column in draft.columns])
    before = b"[\n"
    async for batch in lines:
        for some in _few(batch):
            yield before + b",\n".join(map(orjson.dumps, objects_of(some)))
            before = b",\n"
    yield b"[]\n" if before == b"[\n" else b"\n]\n"


async def _keyed(lines: Lines, draft: Draft) -> AsyncIterator[bytes]:
    """`{"results": {domain: {keyword: [page, ...]}}}`, one domain a line. The first two cells are the keys."""
    renamed = draft.table.renamed
    names = [renamed.get(column.name, column.name) for column in draft.columns[2:]]
    nesting = _Nesting(names)
    yield b"{\n  %s: {" % orjson.dumps(draft.table.name)
    async for some in lines:
        yield nesting.encode(some)
    yield b"]}\n  }\n}\n" if nesting.began else b"}\n}\n"


class _Nesting:
    """Encodes lines as nested JSON, domain by domain; remembers the keys of the last line between batches."""

    def __init__(self, names: Sequence[str]) -> None:
        self._objects_of = objects_with(names, after=2)
        self._last: tuple[Any, Any] | None = None

    @property
    def began(self) -> bool:
        return self._last is not None

    def encode(self, some: Sequence[Line]) -> bytes:
        made = []
        objects = iter(self._objects_of(some))
        for outer, group in groupby(some, key=itemgetter(0)):
            by_inner: dict[Any, list[Any]] = {}
            inner: Any = None
            for line, one in zip(group, objects, strict=False):  # the objects of the other groups stay
                if line[1] != inner or not by_inner:
                    inner = line[1]
                    same = by_inner.setdefault(inner, [])
                same.append(one)
            # Without the last two brackets: more may come in the next batch.
            before, skipped = self._before(outer, next(iter(by_inner)))
            made += [before, orjson.dumps(by_inner)[skipped:-2]]
            self._last = (outer, next(reversed(by_inner)))
        return b"".join(made)

    def _before(self, outer: Any, inner: Any) -> tuple[bytes, int]:
        """Return the separator between the last line and one with these keys, and the bytes of its domain so far."""
        if self._last is None or outer != self._last[0]:
            return b"%s\n    %s: " % (b"]}," if self._last else b"", orjson.dumps(outer)), 0
        if inner != self._last[1]:
            return b"],", 1  # its bracket
        return b",", len(orjson.dumps(inner)) + 3  # also the keyword, a colon and the bracket of its list
