"""Values of fields: read where they are what they should be, and nothing where they are not."""

from typing import Any

import pytest

from gossamer.analyze.rules import Reading, read_value

HERE = Reading("https://a.test/dir/page")


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("number", "1,234.5", 1234.5),
        ("number", "1.234,5 m", 1234.5),
        ("number", "1 234,5", 1234.5),
        ("number", "1'234", 1234),
        ("number", "rated 4 of 5", 4),
        ("number", "-3", -3),
        ("number", "\u22123.5 °C", -3.5),
        ("number", "1,234,567", 1234567),
        ("number", "12,5", 12.5),
        ("number", "1.2.3", None),
        ("number", "none", None),
        ("number", "9" * 30, float("9" * 30)),
        ("price", "$19.99", {"amount": 19.99, "currency": "$"}),
        ("price", "19,99 €", {"amount": 19.99, "currency": "EUR"}),
        ("price", "USD 1,200", {"amount": 1200.0, "currency": "USD"}),
        ("price", "call us", None),
        ("boolean", "Yes", True),
        ("boolean", "https://schema.org/InStock", True),
        ("boolean", "Sold out!", False),
        ("boolean", "perhaps", None),
        ("url", "../x?utm_source=a", "https://a.test/x"),
        ("url", "javascript:alert(1)", None),
        ("date", "2026-03-04", "2026-03-04"),
        ("date", "2026-03-04T10:00:00Z", "2026-03-04T10:00:00Z"),
        ("date", "Wed, 04 Mar 2026 10:00:00 +0100", "2026-03-04T09:00:00Z"),
        ("date", "March 4th, 2026", "2026-03-04"),
        ("date", "4 Mar 2026", "2026-03-04"),
        ("date", "04.03.2026", "2026-03-04"),
        ("date", "03/04/2026", None),
        ("date", "soon", None),
        ("text", "  a\n b ", "a b"),
    ],
)
def test_a_value_is_read_or_it_is_nothing(kind: str, text: str, value: Any) -> None:
    assert read_value(kind, text, HERE) == value


def test_a_date_that_could_be_two_is_read_by_its_format() -> None:
    assert read_value("date", "03/04/2026", HERE, "%d/%m/%Y") == "2026-04-03"
    assert read_value("date", "2026-03-04", HERE, "%d/%m/%Y") is None
