"""From the text of a field to a value of its type, or to nothing where the text is not one. Never a guess.

    text number price date url boolean html

`03/04/2026` is one day here and another there: without a `format` it is no date. A number may be written in any of the
usual ways (`1,234.5`, `1.234,5`, `1 234,5`); a price is an amount and, where one is written, a currency.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from price_parser import Price

from gossamer.model.record import Value
from gossamer.model.url import normalise
from gossamer.parse.text import tidy

_LONGEST = 200  # characters in which a number, a price or a date is looked for
_NUMBER = re.compile(r"(?<![\w.,])[+\-\u2212]?\d[\d.,'\u2019\u00a0\u202f ]*(?<![.,'\u2019\u00a0\u202f ])")
_ENGLISH = re.compile(r"[+-]?\d{1,3}(?:,\d{3})*(?:\.\d+)?|[+-]?\d+\.\d+|[+-]?\d+")
_CONTINENTAL = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+(?:,\d+)?|[+-]?\d+,\d+")
_APART = re.compile(r"(?<=\d)['\u2019\u00a0\u202f ](?=\d{3}(?!\d))")
_TRUE = frozenset({"true", "yes", "y", "on", "1", "in stock", "instock", "available", "checked", "ja", "oui", "si"})
_FALSE = frozenset(
    {"false", "no", "n", "off", "0", "out of stock", "outofstock", "unavailable", "sold out", "soldout", "nein", "non"}
)
_SCHEMA = re.compile(r"https?://schema\.org/", re.IGNORECASE)
_WRITTEN_DATES = ("%d %B %Y", "%d %b %Y", "%B %d %Y", "%b %d %Y", "%d.%m.%Y", "%Y/%m/%d", "%Y%m%d", "%Y-%m-%d %H:%M")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b", re.IGNORECASE)
_CURRENCY_CODE = re.compile(r"\b[A-Z]{3}\b")
_SIGNS: Mapping[str, str] = {
    "€": "EUR",
    "£": "GBP",
    "¥": "JPY",
    "₹": "INR",
    "₽": "RUB",
    "₺": "TRY",
    "₩": "KRW",
    "₪": "ILS",
    "zł": "PLN",
    "Kč": "CZK",
    "US$": "USD",
    "C$": "CAD",
    "CA$": "CAD",
    "A$": "AUD",
    "AU$": "AUD",
    "R$": "BRL",
}


class Reading(NamedTuple):
    """What values are read with: the address that others are relative to."""

    base: str


def read_value(kind: str, text: str, reading: Reading, form: str = "") -> Value:
    match kind:
        case "url":
            return normalise(text.strip(), reading.base)
        case "html":
            return text
        case "date":
            return _date(tidy(text[: 4 * _LONGEST])[:_LONGEST], form)
    return _PLAIN[kind](tidy(text))


def _text(text: str) -> Value:
    return text


def _number(text: str) -> Value:
    """The first number in the text, whatever stands around it."""
    found = _NUMBER.search(text[:_LONGEST])
    if found is None:
        return None
    written = _APART.sub("", found[0]).replace("\u2212", "-")
    if _ENGLISH.fullmatch(written):
        written = written.replace(",", "")
    elif _CONTINENTAL.fullmatch(written):
        written = written.replace(".", "").replace(",", ".")
    else:
        return None
    return float(written) if "." in written else _whole(written)


def _whole(written: str) -> int | float:
    # JSON numbers beyond 64 bits are not read alike everywhere.
    number = int(written)
    return number if abs(number) < 1 << 63 else float(number)


def _price(text: str) -> Value:
    price = Price.fromstring(text[:_LONGEST])
    if price.amount is None:
        return None
    code = _CURRENCY_CODE.search(text)
    sign = price.currency or ""
    currency = code[0] if code else _SIGNS.get(sign, sign)
    return {"amount": float(price.amount), "currency": currency or None}


def _boolean(text: str) -> Value:
    said = _SCHEMA.sub("", text).strip().rstrip(".!").lower()
    if said in _TRUE:
        return True
    return False if said in _FALSE else None


def _date(text: str, form: str) -> Value:
    moment = _by_form(text, form) if form else _stated(text)
    if moment is None:
        return None
    if moment.tzinfo is not None:
        return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    has_time = moment.hour or moment.minute or moment.second
    return moment.isoformat(timespec="seconds") if has_time else moment.date().isoformat()


def _by_form(text: str, form: str) -> datetime | None:
    try:
        return datetime.strptime(text, form)  # noqa: DTZ007 - a page that names no zone is not given one
    except ValueError:
        return None


def is_date_format(form: str) -> bool:
    """Whether dates can be read by it at all."""
    try:
        datetime.strptime(datetime(2001, 2, 3, tzinfo=UTC).strftime(form), form)  # noqa: DTZ007
    except (ValueError, re.error):
        return False
    return True


def _stated(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        pass
    plain = tidy(_ORDINAL.sub("", text).replace(",", " "))
    return next((moment for form in _WRITTEN_DATES if (moment := _by_form(plain, form))), None)


_PLAIN: Mapping[str, Callable[[str], Value]] = {
    "text": _text,
    "number": _number,
    "price": _price,
    "boolean": _boolean,
}

TYPES = ("text", "number", "price", "date", "url", "boolean", "html")
