"""Extraction rules: how they are written, what they yield of a page, and which of them cost little on any page.

text number price date url boolean html

`03/04/2026` is one day here and another there: without a `format` it is no date. A number may be written in any of the
usual ways (`1,234.5`, `1.234,5`, `1 234,5`); a price is an amount and, where one is written, a currency.

A rule says where (CSS or XPath), what of it (text, an attribute, markup) and as what (a number, a price, ...). Rules
may stand inside others, which then are about each element found. What a rule cannot mean is said before anything is
fetched, by the path of the rule: `variants.price`.

A plain selector visits each element of a page about once, or once for each element above it. That holds for names,
classes, ids and attributes in a chain of a few steps. It does not hold for axes like `following::`, for conditions with
paths or texts of whole subtrees, for `:has()` and for siblings: there a few words can mean hours on one page.

What is plain is found by a short list of forms and not by reading the grammar: a form that is missing makes a rule
slower by the way to another process and back, while one too many would stop all other pages of this process.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple, NoReturn, TypeAlias

from price_parser import Price
from turbohtml import Document as Tree
from turbohtml import Element, parse

from gossamer.model.document import Document
from gossamer.model.record import Value
from gossamer.model.url import normalise
from gossamer.parse.links import is_script_or_data
from gossamer.parse.metadata import base_of
from gossamer.parse.text import tidy

_LONGEST_VALUE = 200  # characters in which a number, a price or a date is looked for
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
    """Context for reading values: the base URL of relative addresses."""

    base: str


def read_value(kind: str, text: str, reading: Reading, form: str = "") -> Value:
    match kind:
        case "url":
            return normalise(text.strip(), reading.base)
        case "html":
            return text
        case "date":
            return _date_value(tidy(text[: 4 * _LONGEST_VALUE])[:_LONGEST_VALUE], form)
    return _PLAIN[kind](tidy(text))


def _text_value(text: str) -> Value:
    return text


def _number_value(text: str) -> Value:
    """The first number in the text, whatever stands around it."""
    found = _NUMBER.search(text[:_LONGEST_VALUE])
    if found is None:
        return None
    written = _APART.sub("", found[0]).replace("\u2212", "-")
    if _ENGLISH.fullmatch(written):
        written = written.replace(",", "")
    elif _CONTINENTAL.fullmatch(written):
        written = written.replace(".", "").replace(",", ".")
    else:
        return None
    return float(written) if "." in written else _whole_value(written)


def _whole_value(written: str) -> int | float:
    # JSON numbers beyond 64 bits are not read alike everywhere.
    number = int(written)
    return number if abs(number) < 1 << 63 else float(number)


def _price_value(text: str) -> Value:
    price = Price.fromstring(text[:_LONGEST_VALUE])
    if price.amount is None:
        return None
    code = _CURRENCY_CODE.search(text)
    sign = price.currency or ""
    currency = code[0] if code else _SIGNS.get(sign, sign)
    return {"amount": float(price.amount), "currency": currency or None}


def _boolean_value(text: str) -> Value:
    said = _SCHEMA.sub("", text).strip().rstrip(".!").lower()
    if said in _TRUE:
        return True
    return False if said in _FALSE else None


def _date_value(text: str, form: str) -> Value:
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
    """Return True if dates can be parsed with this format."""
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
    "text": _text_value,
    "number": _number_value,
    "price": _price_value,
    "boolean": _boolean_value,
}

TYPES = ("text", "number", "price", "date", "url", "boolean", "html")


MOST_RULES = 500
DEEPEST = 6
MOST_ITEMS = 10_000  # of one list on one page
MOST_VALUES = 50_000  # of one page, over all its rules
MOST_BYTES = 8 << 20  # of text in them
_MOST_NESTED = 4  # conditions of an XPath inside each other: each level multiplies what has to be looked at
_LONGEST = 2_000  # characters of a selector
_KEYS = frozenset({"css", "xpath", "attribute", "type", "list", "required", "fields", "format"})
_NAME = re.compile(r"[\w-][\w .:-]{0,99}")
_LINKING = frozenset({"href", "action", "formaction"})
# `a.more@href`: the attribute after the selector. A selector itself ends in no such thing.
_WITH_ATTRIBUTE = re.compile(r"(?P<css>(?:.*\S)?)\s*@(?P<attribute>[A-Za-z_][\w:.-]*)", re.DOTALL)

# Attributes that say what an element's text says for people.
_SPEAKING = {"url": ("href", "src", "content"), "date": ("datetime", "content")}

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_CALLED = re.compile(r"(?<![\w:.-])([A-Za-z_][\w.-]*)\s*\(")
_NAMED_ELSEWHERE = re.compile(r"\$[\w-]+")
_NODE_TESTS = frozenset({"text", "node", "comment", "processing-instruction", "and", "or", "div", "mod"})

Node: TypeAlias = "Tree | Element"


class BadRule(ValueError):
    """A rule that means nothing, by its path."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One field: where it is found and what is made of it."""

    css: str = ""
    xpath: str = ""
    attribute: str = ""
    type: str = "text"
    many: bool = False
    required: bool = False
    format: str = ""  # of a date
    fields: Mapping[str, "Rule"] = field(default_factory=dict)
    path: str = ""  # its name for people, like `variants.price`


class RuleStopped(Exception):
    """Extraction that ended early, at the rule with this path."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f'rule "{path}": {why}')


Rules: TypeAlias = Mapping[str, Rule]


def read_rules(given: Mapping[str, Any]) -> Rules:
    """All rules of a person, or a `BadRule` for the first that cannot be one."""
    count = [0]
    rules = _read_fields(given, "", 1, count)
    if not rules:
        raise BadRule("there are no rules")
    return rules


def extract(rules: Rules, doc: Document, watch: Callable[[Rule], None] = lambda _: None) -> dict[str, Value]:
    """The fields of a page: null for what is not there, an empty list for a list.

    Raises `RuleStopped` when the page has more values than one page may give, and whatever `watch` raises, which is
    called before anything is looked for or read.
    """
    run = _Run(Reading(base_of(doc.tree, doc.url)), watch)
    return {name: run.value(rule, doc.tree) for name, rule in rules.items()}


def missing(rules: Rules, found: Mapping[str, Value]) -> str:
    """The first required field that a page does not have; nothing if it has all."""
    return next((name for name, rule in rules.items() if rule.required and _is_nothing(found[name])), "")


class _Run:
    """One page being read by rules: what it has given so far."""

    def __init__(self, reading: Reading, watch: Callable[[Rule], None]) -> None:
        self._reading = reading
        self._watch = watch
        self._values = 0
        self._bytes = 0

    def value(self, rule: Rule, node: Node) -> Value:
        self._watch(rule)
        found = _find(rule, node)
        if rule.many:
            values = (self._one(rule, one) for one in found[:MOST_ITEMS])
            return [value for value in values if not _is_nothing(value)]
        # The first that says something: `.price` may be an empty box before it is a price.
        return next((value for one in found if not _is_nothing(value := self._one(rule, one))), None)

    def _one(self, rule: Rule, found: Any) -> Value:
        self._watch(rule)
        self._values += 1
        if self._values > MOST_VALUES:
            raise RuleStopped(rule.path, f"more than {MOST_VALUES:,} values on one page")
        if rule.fields:
            if not isinstance(found, Element):
                return None
            inner: dict[str, Value] = {name: self.value(one, found) for name, one in rule.fields.items()}
            return None if missing(rule.fields, inner) or all(map(_is_nothing, inner.values())) else inner
        text = _text(rule, found)
        if text is None:
            return None
        self._bytes += len(text) if text.isascii() else len(text.encode())
        if self._bytes > MOST_BYTES:
            raise RuleStopped(rule.path, f"more than {MOST_BYTES >> 20} MB of text on one page")
        return read_value(rule.type, text, self._reading, rule.format)


def _text(rule: Rule, found: Any) -> str | None:
    if not isinstance(found, Element):
        return str(found)
    if rule.attribute:
        stated = found.attr(rule.attribute)
        return None if rule.attribute in _LINKING and is_script_or_data(stated) else stated
    # If no attribute is named: the one that elements have for just that.
    for name in _SPEAKING.get(rule.type, ("content",) if found.tag == "meta" else ()):
        if stated := found.attr(name):
            return stated
    return found.html if rule.type == "html" else tidy(found.to_text())


def _find(rule: Rule, node: Node) -> list[Any]:
    if rule.css == ":scope" or rule.xpath == ".":
        return [node]
    try:
        if rule.css:
            return list(node.select(rule.css))
        found = node.xpath(rule.xpath)
    except (ValueError, TypeError, RecursionError):
        return []  # sound in itself, and without meaning on this page
    if isinstance(found, list):
        return found
    return [_scalar(found)]


def _scalar(found: Any) -> Any:
    if isinstance(found, bool):
        return "true" if found else "false"
    return int(found) if isinstance(found, float) and found.is_integer() else found


def _is_nothing(value: Value) -> bool:
    return value is None or (not value and isinstance(value, str | list | dict))


# Reading rules


def _read_fields(given: Any, path: str, depth: int, count: list[int]) -> Rules:
    if not isinstance(given, Mapping):
        _refuse(path, 'must be an object of rules, like {"title": "h1"}')
    if depth > DEEPEST:
        _refuse(path, f"stands more than {DEEPEST} deep")
    rules: dict[str, Rule] = {}
    for name, one in given.items():
        inner = f"{path}.{name}" if path else str(name)
        count[0] += 1
        if count[0] > MOST_RULES:
            _refuse(inner, f"is one more than the {MOST_RULES} rules a job takes")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            _refuse(inner, "has a name that no field can have: use letters, digits, _ and -")
        rules[name] = _read_rule(one, inner, depth, count)
    return rules


def _read_rule(given: Any, path: str, depth: int, count: list[int]) -> Rule:
    if isinstance(given, str):
        given = _written_short(given)
    if not isinstance(given, Mapping):
        _refuse(path, 'must be a selector like "h1", or an object like {"css": ".price", "type": "price"}')
    unknown = next((key for key in given if key not in _KEYS), None)
    if unknown is not None:
        _refuse(path, f'has "{unknown}", which means nothing; there are {", ".join(sorted(_KEYS))}')
    css, xpath = _string(given, "css", path), _string(given, "xpath", path)
    if bool(css) == bool(xpath):
        _refuse(path, 'needs "css" or "xpath"' if not css else 'has both "css" and "xpath"')
    inside = depth > 1
    (_check_css if css else _check_xpath)(css or xpath, path, inside=inside)
    fields = _read_fields(given["fields"], path, depth + 1, count) if "fields" in given else {}
    if "fields" in given and not fields:
        _refuse(path, 'has no rules in "fields"')
    rule = Rule(
        css,
        xpath,
        _string(given, "attribute", path),
        _string(given, "type", path) or "text",
        _flag(given, "list", path),
        _flag(given, "required", path),
        _string(given, "format", path),
        fields,
        path,
    )
    _check_kind(rule, path)
    return rule


def _written_short(text: str) -> dict[str, str]:
    if text.lstrip().startswith(("/", "./", "(/", "(./")):
        return {"xpath": text.strip()}
    with_attribute = _WITH_ATTRIBUTE.fullmatch(text)
    if with_attribute is None:
        return {"css": text}
    return {"css": with_attribute["css"] or ":scope", "attribute": with_attribute["attribute"]}


def _check_kind(rule: Rule, path: str) -> None:
    if rule.type not in TYPES:
        _refuse(path, f'has the type "{rule.type}", there are {", ".join(TYPES)}')
    if rule.fields and (rule.attribute or rule.type != "text"):
        _refuse(path, 'has "fields", so it is an object and can have neither "type" nor "attribute"')
    if rule.format and rule.type != "date":
        _refuse(path, 'has "format", which only dates have')
    if rule.format and not is_date_format(rule.format):
        _refuse(path, f'has "{rule.format}" as the format of a date, which is none; write it like "%d.%m.%Y"')
    if rule.type == "html" and rule.attribute:
        _refuse(path, "wants the markup of an attribute, which has none")


def _check_css(text: str, path: str, *, inside: bool) -> None:
    if text == ":scope" and inside:
        return
    try:
        _EMPTY.select(text)
    except ValueError as error:
        _refuse(path, str(error).replace("invalid CSS selector", "has an invalid CSS selector"))


def _check_xpath(text: str, path: str, *, inside: bool) -> None:
    if text == "." and inside:
        return
    # What stands in conditions is only looked at where something fits, and on this page nothing may.
    bare = _QUOTED.sub("''", text)
    if _nested(bare) > _MOST_NESTED:
        _refuse(path, f"has conditions more than {_MOST_NESTED} deep inside each other")
    calls = (f"{name}()" for name in _CALLED.findall(bare) if name not in _NODE_TESTS)
    for part in (text, *calls, *("$x" for _ in _NAMED_ELSEWHERE.findall(bare)[:1])):
        try:
            _EMPTY.xpath(part)
        except (ValueError, TypeError) as error:
            said = str(error).removeprefix("xpath: ")
            if part == text or "argument" not in said:
                _refuse(path, f'has an invalid XPath expression "{text}": {said}')


def _nested(xpath: str) -> int:
    """Return the greatest nesting depth of conditions in an XPath."""
    deepest = depth = 0
    for sign in xpath:
        depth += (sign == "[") - (sign == "]")
        deepest = max(deepest, depth)
    return deepest


def _string(given: Mapping[str, Any], key: str, path: str) -> str:
    value = given.get(key, "")
    if not isinstance(value, str) or len(value) > _LONGEST:
        _refuse(path, f'has a "{key}" that is no text of at most {_LONGEST:,} characters')
    if key in given and not value.strip():
        _refuse(path, f'has an empty "{key}"')
    return value.strip()


def _flag(given: Mapping[str, Any], key: str, path: str) -> bool:
    value = given.get(key, False)
    if not isinstance(value, bool):
        _refuse(path, f'has a "{key}" that is neither true nor false')
    return value


def _refuse(path: str, what: str) -> NoReturn:
    raise BadRule(f'the rule "{path}" {what}' if path else f"what is given {what}")


_EMPTY = parse("<p></p>", positions=False)


LARGEST = 512 << 10  # bytes of a page: above it even plain rules may take their time
_MOST_STEPS = 4

_PLAIN_NAME = r"[A-Za-z_][\w-]*"
_TEXT = r"(?:\"[^\"]{0,200}\"|'[^']{0,200}')"

_CSS_ATTRIBUTE = rf"\[\s*[A-Za-z_][\w:-]*\s*(?:[~|^$*]?=\s*(?:{_TEXT}|[\w-]+)\s*)?\]"
_CSS_PSEUDO = r":(?:first-child|last-child|only-child|nth-child\(\s*(?:odd|even|\d+)\s*\))"
_CSS_MORE = rf"(?:[.#]-?{_PLAIN_NAME}|{_CSS_ATTRIBUTE}|{_CSS_PSEUDO}){{0,4}}"
_CSS_STEP = rf"(?:(?:{_PLAIN_NAME}|\*){_CSS_MORE}|(?=[.#\[:]){_CSS_MORE})"
_CSS = re.compile(rf"(?::scope\s*>\s*)?{_CSS_STEP}(?:(?:\s*[>+,]\s*|\s+){_CSS_STEP}){{0,{_MOST_STEPS - 1}}}")

_XPATH_TESTED = r"(?:@[\w:-]+|text\(\))"
_XPATH_CONDITION = (
    rf"\[\s*(?:\d+|last\(\)|{_XPATH_TESTED}(?:\s*=\s*{_TEXT})?"
    rf"|(?:contains|starts-with)\(\s*{_XPATH_TESTED}\s*,\s*{_TEXT}\s*\))\s*\]"
)
_XPATH_STEP = rf"(?:{_PLAIN_NAME}|\*)(?:{_XPATH_CONDITION}){{0,3}}"
_XPATH_END = r"(?:/{1,2}(?:@[\w:-]+|@\*|text\(\)))?"
_XPATH_PATH = rf"\.?//?{_XPATH_STEP}(?://?{_XPATH_STEP}){{0,{_MOST_STEPS - 1}}}{_XPATH_END}"
_XPATH = re.compile(
    rf"{_XPATH_PATH}|\(\s*{_XPATH_PATH}\s*\)\[(?:\d+|last\(\))\]"
    rf"|(?:count|boolean|string|normalize-space)\(\s*{_XPATH_PATH}\s*\)|\./?/?{_XPATH_END.rstrip('?')}"
)


def are_plain(rules: Rules) -> bool:
    """Return True if every rule is cheap for each element it is applied to."""
    return all(_is_plain(rule) for rule in rules.values())


def _is_plain(rule: Rule) -> bool:
    if rule.css:
        plain = rule.css == ":scope" or _CSS.fullmatch(rule.css)
    else:
        plain = rule.xpath == "." or _XPATH.fullmatch(rule.xpath)
    return bool(plain) and are_plain(rule.fields)
