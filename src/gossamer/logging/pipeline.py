"""From a log call to its line: structlog's chain. Imported with the first event, for it is slow to load."""

import json
import logging
import re
from collections.abc import Mapping, MutableMapping
from functools import cache
from typing import Any

import structlog

from gossamer.logging.redact import redactor
from gossamer.model.record import Value, escaped

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


_RESERVED = ("event", "level", "logger", "timestamp")
_CLEAN = ("level", "logger", "timestamp", "_record", "_from_structlog")  # made by the chain itself


def write(logger: logging.Logger, level: int, event: str, fields: Mapping[str, object]) -> None:
    """Send one event of ours through the chain to whatever handlers there are."""
    renamed = {f"{name}_" if name in _RESERVED else name: value for name, value in fields.items()}
    _wrapped(logger.name).log(level, event, **renamed)


def formatter(shape: str) -> logging.Formatter:
    """Return the formatter of a handler; events of other libraries first pass our processing chain."""
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=_CHAIN,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, _json if shape == "json" else _line],
    )


def _redact(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    return {
        name: value if name in _CLEAN else redactor.plain(value, "" if name == "event" else name)
        for name, value in event.items()
    }


def _line(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> str:
    return as_line(event)


def _json(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> str:
    return as_json(event)


# Redaction is the last word here and not in the formatter: any handler of the host program gets what it leaves.
_CHAIN: list[structlog.typing.Processor] = [
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
    _redact,
]


@cache
def _wrapped(name: str) -> structlog.stdlib.BoundLogger:
    wrapped: structlog.stdlib.BoundLogger = structlog.wrap_logger(
        logging.getLogger(name),
        processors=[*_CHAIN, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.stdlib.BoundLogger,
        context_class=dict,
    )
    return wrapped
