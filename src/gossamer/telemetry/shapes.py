"""The last step of an event: from plain fields to the one line that is written, for people or for programs."""

import json
import re
from collections.abc import Mapping

from gossamer.model.record import Value

# Who and where comes first, in this order and under these names; which visit it was comes last.
_LEADING = {"job": "Job", "worker": "Worker", "url": "URL"}
_TRAILING = ("visit", "lane")
_FRAME = ("timestamp", "level", "logger", "event")
_SAID = "said"  # a whole sentence: people read it instead of the event's name and its facts, programs beside them

_SCHEME = re.compile(r"https?://", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{4}([0-9a-f]{8})")
_BARE = re.compile(r"[^\s\"'=\\]+")


def as_line(fields: Mapping[str, Value]) -> str:
    """`2025-01-19T14:23:45Z [ERROR] Job:abc123 Worker:w-42 URL:example.com/page what happened key=value`."""
    parts = [f"{_whole_seconds(str(fields['timestamp']))} [{str(fields['level']).upper()}]"]
    parts += [f"{title}:{_leading(fields[name])}" for name, title in _LEADING.items() if name in fields]
    last = [f"{name}={_leading(fields[name])}" for name in _TRAILING if name in fields]
    if _SAID in fields:
        return " ".join([*parts, escaped(str(fields[_SAID])), *last])
    parts.append(escaped(str(fields.get("event", ""))))
    parts += [
        f"{escaped(name)}={_value(value)}"
        for name, value in fields.items()
        if name not in _LEADING and name not in _FRAME and name not in _TRAILING
    ]
    parts += last
    logger = str(fields.get("logger", ""))
    if logger and not _is_ours(logger):
        parts.append(f"logger={_value(logger)}")
    return " ".join(parts)


def as_json(fields: Mapping[str, Value]) -> str:
    """One object, the frame first. ASCII only, so that no character can be taken for the end of the line."""
    framed = {name: fields[name] for name in _FRAME if name in fields}
    return json.dumps(framed | {name: value for name, value in fields.items() if name not in _FRAME})


def escaped(text: str) -> str:
    """Text that stays on its line: line breaks, terminal codes and invisible characters are spelled out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _whole_seconds(timestamp: str) -> str:
    return timestamp.partition(".")[0] + "Z" if "." in timestamp else timestamp


def _leading(value: Value) -> str:
    text = _SCHEME.sub("", str(value), count=1) if isinstance(value, str) else str(value)
    short = _UUID.fullmatch(text)
    return short[1] if short else _value(text)


def _value(value: Value) -> str:
    if isinstance(value, str):
        return value if value.isprintable() and _BARE.fullmatch(value) else _quoted(value)
    return escaped(json.dumps(value, ensure_ascii=False))


def _quoted(text: str) -> str:
    return escaped(json.dumps(text, ensure_ascii=False))


def _is_ours(logger: str) -> bool:
    return logger == "gossamer" or logger.startswith("gossamer.")
