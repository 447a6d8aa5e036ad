"""Zero overshoot: many processes, random prices and failures, one of them killed. More: `python -m tests.ledger`."""

from pathlib import Path

import pytest

from tests.conftest import AnyDatabase
from tests.ledger.trial import check, spend


@pytest.mark.parametrize("seed", [7])
async def test_no_credit_above_the_cap_and_none_that_the_provider_charged_is_missing(
    database: AnyDatabase, database_url: str, tmp_path: Path, seed: int
) -> None:
    check(await spend(database_url, seed, tmp_path))
