"""Which extraction rules cost little whatever the page: the others are run in a process that can be ended.

A plain selector visits each element of a page about once, or once for each element above it. That holds for names,
classes, ids and attributes in a chain of a few steps. It does not hold for axes like `following::`, for conditions with
paths or texts of whole subtrees, for `:has()` and for siblings: there a few words can mean hours on one page.

What is plain is found by a short list of forms and not by reading the grammar: a form that is missing makes a rule
slower by the way to another process and back, while one too many would stop all other pages of this process.
"""

import re

from gossamer.analyze.rules import Rule, Rules

LARGEST = 512 << 10  # bytes of a page: above it even plain rules may take their time
_MOST_STEPS = 4

_NAME = r"[A-Za-z_][\w-]*"
_TEXT = r"(?:\"[^\"]{0,200}\"|'[^']{0,200}')"

_CSS_ATTRIBUTE = rf"\[\s*[A-Za-z_][\w:-]*\s*(?:[~|^$*]?=\s*(?:{_TEXT}|[\w-]+)\s*)?\]"
_CSS_PSEUDO = r":(?:first-child|last-child|only-child|nth-child\(\s*(?:odd|even|\d+)\s*\))"
_CSS_MORE = rf"(?:[.#]-?{_NAME}|{_CSS_ATTRIBUTE}|{_CSS_PSEUDO}){{0,4}}"
_CSS_STEP = rf"(?:(?:{_NAME}|\*){_CSS_MORE}|(?=[.#\[:]){_CSS_MORE})"
_CSS = re.compile(rf"(?::scope\s*>\s*)?{_CSS_STEP}(?:(?:\s*[>+,]\s*|\s+){_CSS_STEP}){{0,{_MOST_STEPS - 1}}}")

_XPATH_TESTED = r"(?:@[\w:-]+|text\(\))"
_XPATH_CONDITION = (
    rf"\[\s*(?:\d+|last\(\)|{_XPATH_TESTED}(?:\s*=\s*{_TEXT})?"
    rf"|(?:contains|starts-with)\(\s*{_XPATH_TESTED}\s*,\s*{_TEXT}\s*\))\s*\]"
)
_XPATH_STEP = rf"(?:{_NAME}|\*)(?:{_XPATH_CONDITION}){{0,3}}"
_XPATH_END = r"(?:/{1,2}(?:@[\w:-]+|@\*|text\(\)))?"
_XPATH_PATH = rf"\.?//?{_XPATH_STEP}(?://?{_XPATH_STEP}){{0,{_MOST_STEPS - 1}}}{_XPATH_END}"
_XPATH = re.compile(
    rf"{_XPATH_PATH}|\(\s*{_XPATH_PATH}\s*\)\[(?:\d+|last\(\))\]"
    rf"|(?:count|boolean|string|normalize-space)\(\s*{_XPATH_PATH}\s*\)|\./?/?{_XPATH_END.rstrip('?')}"
)


def are_plain(rules: Rules) -> bool:
    """Whether each of them costs little for every place it is asked about."""
    return all(_is_plain(rule) for rule in rules.values())


def _is_plain(rule: Rule) -> bool:
    if rule.css:
        plain = rule.css == ":scope" or _CSS.fullmatch(rule.css)
    else:
        plain = rule.xpath == "." or _XPATH.fullmatch(rule.xpath)
    return bool(plain) and are_plain(rule.fields)
