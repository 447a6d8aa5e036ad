"""Lines as CSV, JSON and JSON lines: from batches of lines to bytes, one batch in memory at a time."""

import csv
import io
from collections.abc import AsyncIterator, Sequence
from typing import Any

import orjson

from gossamer.export.draft import Draft
from gossamer.export.formula import defused_lines, texts
from gossamer.export.table import Line, Lines

_BOM = "\ufeff"


async def encode_csv(lines: Lines, draft: Draft) -> AsyncIterator[bytes]:
    """RFC 4180 with a header line, CRLF, UTF-8."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    if draft.looks.bom:
        text.write(_BOM)
    writer.writerow([column.name for column in draft.columns])
    places = () if draft.looks.raw else texts(draft.columns)
    async for some in lines:
        writer.writerows(defused_lines(some, places) if places else some)
        yield text.getvalue().encode()
        text.seek(0)
        text.truncate()
    if text.tell():
        yield text.getvalue().encode()


async def encode_jsonl(lines: Lines, draft: Draft) -> AsyncIterator[bytes]:
    """One flat object a line."""
    names = [column.name for column in draft.columns]
    async for some in lines:
        yield b"".join(
            [orjson.dumps(dict(zip(names, line, strict=True)), None, orjson.OPT_APPEND_NEWLINE) for line in some]
        )


def encode_json(lines: Lines, draft: Draft) -> AsyncIterator[bytes]:
    """One JSON value: keyed as the table says, else a list of objects."""
    return _keyed(lines, draft) if draft.table.nested else _listed(lines, draft)


async def _listed(lines: Lines, draft: Draft) -> AsyncIterator[bytes]:
    names = [column.name for column in draft.columns]
    before = b"[\n"
    async for some in lines:
        yield before + b",\n".join([orjson.dumps(dict(zip(names, line, strict=True))) for line in some])
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
    """Remembers under which keys the last line stood."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._outer: Any = None
        self._inner: Any = None
        self.began = False

    def encode(self, some: Sequence[Line]) -> bytes:
        names, dumps = self._names, orjson.dumps
        made = []
        for outer, inner, *cells in some:
            if outer != self._outer:
                made.append(b"%s\n    %s: {%s:[" % (b"]}," if self.began else b"", dumps(outer), dumps(inner)))
                self.began = True
            elif inner != self._inner:
                made.append(b"],%s:[" % dumps(inner))
            else:
                made.append(b",")
            self._outer, self._inner = outer, inner
            made.append(dumps(dict(zip(names, cells, strict=True))))
        return b"".join(made)
