"""What is wrong with a command that was typed, in words: a missing option, a value that cannot be used."""

from collections.abc import Mapping
from typing import Any

from gossamer.errors import UserError

# What is said where these are missing, by the last word of the command and the name of the parameter.
_MISSING: Mapping[tuple[str, str], tuple[str, str]] = {
    ("run", "name"): ("The job needs a name, so that you find it again.", 'Add one, such as --name "Acme Q1".'),
    ("rename", "name"): (
        "The new name is missing.",
        "Write it behind the job: 'gossamer job rename last \"Acme Q2\"'.",
    ),
    ("login", "url"): ("Which server is meant?", "Give its address: 'gossamer login https://crawl.example.com'."),
    ("explain", "url"): ("Which address is meant?", "Give it: 'gossamer explain https://example.com/about'."),
}
_EXPECTED = {
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_parsing": "a number",
    "greater_than_equal": "a number",
    "less_than_equal": "a number",
}


def usage_error(error: Any, message: str) -> UserError:
    """The sentence and the next step for one of the command line's own exceptions."""
    path = str(getattr(getattr(error, "ctx", None), "command_path", "gossamer"))
    hint = f"See '{path} --help'."
    param = getattr(error, "param", None)
    if type(error).__name__ == "MissingParameter" and param is not None:
        said = _missing(path, param)
        if said:
            return UserError("usage", said[0], hint=said[1])
    value = _value(error, param) if param is not None else ""
    return UserError("usage", value or _sentence(error, message), hint=hint)


def _missing(path: str, param: Any) -> tuple[str, str] | None:
    command = path.split()[-1]
    if said := _MISSING.get((command, str(param.name))):
        return said
    if param.metavar == "ID" and str(param.name) == "job":
        here = " ".join(["gossamer", *path.split()[-2:]])
        return "Which job is meant?", f"Give its id, or '{here} last' for the newest: 'gossamer job list' shows all."
    return None


def _value(error: Any, param: Any) -> str:
    """`--top-pages is 'abc', expected a whole number from 1 to 50,000`, of what the library refused; else nothing."""
    details = getattr(error.__cause__, "errors", None)
    if details is None:
        return ""
    wrong = details()[0]
    given = wrong.get("input")
    name = max(param.opts, key=len) if param.param_type_name == "option" else str(param.metavar or param.name.upper())
    kind = _EXPECTED.get(str(wrong["type"]))
    if kind is None or not isinstance(given, str):
        said = str(wrong["msg"]).removeprefix("Value error, ").rstrip(".")
        return f"{name}: {said}."
    whole = getattr(param.type_descriptor, "annotation", None)
    kind = "a whole number" if whole is int or str(whole).startswith("int") else kind
    return f"{name} is {given!r}, expected {kind}{_range(param.min, param.max)}."


def _range(least: float | None, most: float | None) -> str:
    if least is not None and most is not None:
        return f" from {least:,.0f} to {most:,.0f}"
    if least is not None:
        return f" of {least:,.0f} or more"
    return f" of {most:,.0f} or less" if most is not None else ""


def _sentence(error: Exception, message: str) -> str:
    possible = getattr(error, "possibilities", None)
    if possible:
        return f"{message.rstrip('.')}. Did you mean {' or '.join(possible)}?"
    format_message = getattr(error, "format_message", None)
    text = str(format_message()) if format_message else message
    text = text.replace(" requires an argument", " needs a value")
    return text if text.endswith((".", "?", "!")) else f"{text}."
