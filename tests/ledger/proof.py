"""The proof that the ledger is whole: budgets, reservations, charges and expenses say the same."""

from gossamer.store import audit
from tests.conftest import AnyDatabase


async def assert_books_balance(database: AnyDatabase) -> None:
    """Of everything: every job, every account and every day."""
    assert await database.read(audit.money_faults) == []
