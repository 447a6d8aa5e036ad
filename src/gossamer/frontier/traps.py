"""Addresses without an end: places where a site makes up one more page for every page that is read."""

import re

# Runs of so many segments are looked for, and so many of one run after the other are no accident.
_LONGEST_RUN = 4
_REPEATS = 3
_MOST_OF_ONE_NAME = 3
_MOST_PARAMETERS = 12
MOST_OF_A_CALENDAR = 24

_YEAR, _MONTH, _DAY = r"(?:19|2\d)\d\d", r"(?:0[1-9]|1[0-2])", r"(?:0[1-9]|[12]\d|3[01])"
_DATED_PATH = re.compile(rf"/(?:{_YEAR}/{_MONTH}(?:/{_DAY})?|{_YEAR}-{_MONTH}(?:-{_DAY})?)/?$")
_DATED_VALUE = re.compile(rf"[^&=]+={_YEAR}-{_MONTH}(?:-{_DAY})?")
_DIGITS = re.compile(r"\d+")


def is_endless(tail: str) -> bool:
    """Whether a path and query can only have come from a machine that adds to its own addresses."""
    path, _, query = tail.partition("?")
    return _repeats(path) or (bool(query) and _grows(query))


def _repeats(path: str) -> bool:
    """`/a/b/a/b/a/b`: the same few folders again and again."""
    segments = [segment for segment in path.split("/") if segment]
    if len(segments) < _REPEATS or len(set(segments)) > len(segments) - _REPEATS + 1:
        return False
    for length in range(1, min(_LONGEST_RUN, len(segments) // _REPEATS) + 1):
        for start in range(len(segments) - length * _REPEATS + 1):
            run = segments[start : start + length]
            if segments[start : start + length * _REPEATS] == run * _REPEATS:
                return True
    return False


def _grows(query: str) -> bool:
    """`?tag=1&tag=2&tag=3&tag=4`: every click adds a condition to those before."""
    parameters = query.split("&")
    if len(parameters) <= _MOST_OF_ONE_NAME:
        return False
    names = [parameter.partition("=")[0] for parameter in parameters]
    return len(names) > _MOST_PARAMETERS or max(map(names.count, names)) > _MOST_OF_ONE_NAME


def calendar_shape(tail: str) -> str:
    """What all months of a calendar have in common, if the address is one of its months or days; else nothing."""
    path, _, query = tail.partition("?")
    return _DIGITS.sub("0", tail) if _DATED_PATH.search(path) or (query and _is_dated(query)) else ""


def _is_dated(query: str) -> bool:
    parameters = query.split("&")
    names = {parameter.partition("=")[0].lower() for parameter in parameters}
    return {"year", "month"} <= names or any(_DATED_VALUE.fullmatch(parameter) for parameter in parameters)
