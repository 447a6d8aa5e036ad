"""Between a log call and the line: structlog's chain. Imported with the first event, for it is slow to load."""

import logging
from collections.abc import Mapping, MutableMapping
from functools import cache
from typing import Any

import structlog

from gossamer.telemetry.redact import redactor
from gossamer.telemetry.shapes import as_json, as_line

_RESERVED = ("event", "level", "logger", "timestamp")
_CLEAN = ("level", "logger", "timestamp", "_record", "_from_structlog")  # made by the chain itself


def write(logger: logging.Logger, level: int, event: str, fields: Mapping[str, object]) -> None:
    """Send one event of ours through the chain to whatever handlers there are."""
    renamed = {f"{name}_" if name in _RESERVED else name: value for name, value in fields.items()}
    _wrapped(logger.name).log(level, event, **renamed)


def formatter(shape: str) -> logging.Formatter:
    """For a handler: events of ours as they come, those of other libraries after the same treatment."""
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
