"""Column types that mean the same on both databases."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID, SafeUUID

import orjson
from sqlalchemy import DateTime, LargeBinary, Uuid
from sqlalchemy.engine import Dialect
from sqlalchemy.types import JSON, TypeEngine, UserDefinedType

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)


class _BytesId(UserDefinedType[UUID]):
    """A UUID as 16 bytes, which sort by time as the id does."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "BLOB"

    def bind_processor(self, dialect: Dialect) -> Callable[[UUID | None], bytes | None]:
        return lambda value: None if value is None else value.bytes

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[bytes | None], UUID | None]:
        return lambda value: None if value is None else _id(value)


@lru_cache(maxsize=8_192)
def _id(value: bytes) -> UUID:
    """Make a UUID like `UUID(bytes=value)`, but without its argument checks; repeated values are cached.

    Every settle reads hundreds of ids.
    """
    made = object.__new__(UUID)
    object.__setattr__(made, "int", int.from_bytes(value, "big"))
    object.__setattr__(made, "is_safe", SafeUUID.unknown)
    return made


class _Bytes(UserDefinedType[bytes]):
    """Bytes without the additional conversion of SQLAlchemy's own type."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "BLOB"


class _Milliseconds(UserDefinedType[datetime]):
    """A time as milliseconds since 1970, because SQLite's own dates are text."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "INTEGER"

    def bind_processor(self, dialect: Dialect) -> Callable[[datetime | None], int | None]:
        return lambda value: None if value is None else (value - EPOCH) // MILLISECOND

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[int | None], datetime | None]:
        return lambda value: None if value is None else EPOCH + value * MILLISECOND


Id = _BytesId().with_variant(Uuid(), "postgresql")
Instant = _Milliseconds().with_variant(DateTime(timezone=True), "postgresql")
Blob = _Bytes().with_variant(LargeBinary(), "postgresql")
Json = JSON(none_as_null=True)


def is_bytes(kind: TypeEngine[Any]) -> bool:
    """Return True if SQLite stores this type as bytes."""
    return isinstance(kind, _BytesId | _Bytes)


def dumps(value: Any) -> str:
    return orjson.dumps(value, default=_plain).decode()


def _plain(value: object) -> list[Any]:
    """Named tuples go into columns as the arrays they are; nothing else has any business there."""
    if isinstance(value, tuple):
        return list(value)
    raise TypeError(f"{type(value).__name__} cannot be kept as JSON")


def processor(kind: Any, dialect: Dialect) -> Callable[[Any], Any]:
    """Return the function that converts a value for the driver."""
    if isinstance(kind, JSON):
        return _json  # what the library's own comes to, by a shorter way: records are written by the hundred
    found: Callable[[Any], Any] | None = kind.dialect_impl(dialect).bind_processor(dialect)
    return found or as_it_is


def _json(value: Any) -> str | None:
    return None if value is None else orjson.dumps(value, default=_plain).decode()


def as_it_is(value: Any) -> Any:
    return value
