"""Answers travel as JSON and are the same values at the other end, whatever they are made of."""

import dataclasses
from datetime import UTC, date, datetime, timedelta
from typing import Any, get_args, get_type_hints
from uuid import uuid4

import orjson
import pytest

from gossamer.api.questions import QUESTIONS
from gossamer.billing.prices import PriceList
from gossamer.fetch.providers.base import ProviderAccount
from gossamer.history.politeness import Gap
from gossamer.model.job import Job
from gossamer.model.money import NOTHING, Amount, Budget, BudgetKey, Cap, Scope
from gossamer.model.page import Attempt
from gossamer.model.states import JobState, PageState
from gossamer.model.trouble import Reason, Trouble
from gossamer.questions.history import Pages
from gossamer.questions.system import Spending
from gossamer.questions.wire import Unreadable, _reader, pack, unpack
from gossamer.store.charges import Expense
from gossamer.store.history import PageHistory

NOW = datetime(2026, 11, 17, 10, 0, 0, 250_001, tzinfo=UTC)
JOB = Job(uuid4(), "Ünïcode", "prospect", {"keywords": ["a"], "depth": 3}, JobState.RUNNING, "", NOW, None, NOW)


def travelled(kind: Any, value: Any) -> Any:
    return unpack(kind, orjson.loads(orjson.dumps(pack(value))))


def test_pages_with_all_they_remember() -> None:
    tries = (Attempt("direct", 503, "UNAVAILABLE", 12, 1_700_000_000_000, (1, 2)), Attempt("direct", None, "", 0, 1))
    page = PageHistory(
        b"\x00\xff", "https://a.test/", PageState.FAILED, Trouble(Reason.TIMEOUT, "15 s", None, 1.5), None,
        0, 1, 0, "", tries, NOW, None, 9, None,
    )  # fmt: skip
    value = Pages(JOB, "a.test", (page,))
    assert travelled(Pages, value) == value


def test_money_prices_and_books() -> None:
    key = BudgetKey(Scope.SYSTEM, "", "2026-11-17")
    budget = Budget(key, Cap(5, None), NOTHING, Amount(1, 2, 3))
    value = Spending(
        date(2026, 11, 17),
        budget,
        {"default": budget},
        {"scrapingbee": Expense("", "scrapingbee", 3, Amount(1), 0)},
        {},
        ((JOB, JOB.id, Amount(7)), (None, uuid4(), NOTHING)),
        {Scope.JOB: Cap(10)},
        PriceList(),
        0.01,
        {"scrapingbee": ProviderAccount(1, 2, 3, 4, 5, "soon"), "firecrawl": "HTTP 401"},
    )
    assert travelled(Spending, value) == value


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (timedelta, timedelta(days=400, microseconds=1)),
        (tuple[timedelta | None, ...], (None, timedelta(seconds=1))),
        (dict[JobState, list[int]], {JobState.PAUSED: [1, 2]}),
        (frozenset[str], frozenset({"b", "a"})),
        (Gap | None, Gap(1, 2, 3)),
        (list[list[Any]], [[1, "a", None, {"b": 2.5}]]),
        (float, 3.0),
        (Reason, Reason.SAME_AS),
    ],
)
def test_small_things(kind: Any, value: Any) -> None:
    found = travelled(kind, value)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (int, "1"),
        (int, True),
        (str, 1),
        (JobState, "asleep"),
        (Reason, "BORED"),
        (Job, {"id": "x"}),
        (Job, []),
        (list[int], {}),
        (tuple[int, str], [1]),
        (datetime, 5),
        (bytes, "xy"),
    ],
)
def test_what_is_none_is_said_to_be_none(kind: Any, said: Any) -> None:
    with pytest.raises(Unreadable):
        unpack(kind, said)


@pytest.mark.parametrize("question", sorted(QUESTIONS))
def test_every_answer_can_travel(question: str) -> None:
    """All types that an answer is made of are ones that can be read."""
    seen: set[Any] = set()

    def look(kind: Any) -> None:
        if kind in seen or kind is ...:
            return
        seen.add(kind)
        for part in get_args(kind):
            look(part)
        if dataclasses.is_dataclass(kind):
            for hint in get_type_hints(kind, include_extras=True).values():
                look(hint)
        _reader(kind)  # which would not know what to do with others

    look(get_type_hints(QUESTIONS[question], include_extras=True)["return"])
    assert seen
