"""Lines as Parquet, whatever batches they come in."""

import io
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from pyarrow import parquet

from gossamer.exports.encoding import Draft
from gossamer.exports.parquet import encode_parquet
from gossamer.recipes.base import Line
from gossamer.recipes.tables import ERRORS

LINE: Line = tuple("x" if column.kind == "text" else None for column in ERRORS.columns)


@pytest.mark.parametrize("sizes", [(), (0,), (0, 1), (1, 0, 2), (0, 0, 3, 0)])
async def test_a_step_without_lines_is_passed_over(tmp_path: Path, sizes: tuple[int, ...]) -> None:
    async def lines() -> AsyncGenerator[list[Line], None]:
        for size in sizes:
            yield [LINE] * size

    draft = Draft(ERRORS, ERRORS.columns, folder=tmp_path)
    file = b"".join([chunk async for chunk in encode_parquet(lines(), draft)])
    assert parquet.read_table(io.BytesIO(file)).num_rows == sum(sizes)
