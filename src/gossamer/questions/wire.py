"""Serialisation of dataclasses as JSON and back by their field types, for answers sent from a server to a terminal.

Values with a text form (StrEnum, UUID, date) are sent as text, an Enum by its name, bytes in hexadecimal digits, a
time span in microseconds, named tuples and dataclasses as objects. The class is not sent: both ends are the same
program, and use the return type of the question.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import date, datetime, timedelta
from enum import Enum, StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints
from uuid import UUID

_MICROSECOND = timedelta(microseconds=1)


class Unreadable(ValueError):
    """The data does not match the type: another version of the program has written it."""


def pack(value: Any) -> Any:
    """Convert a value to its JSON form."""
    if value is None or type(value) in (str, int, float, bool):
        return value
    for kinds, packed in _PACKED:
        if isinstance(value, kinds):
            return packed(value)
    raise TypeError(f"{type(value).__name__} does not travel")


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: pack(getattr(value, field.name)) for field in dataclasses.fields(value)}


def _sequence(value: Sequence[Any]) -> Any:
    if hasattr(value, "_asdict"):
        return {name: pack(one) for name, one in value._asdict().items()}
    return [pack(one) for one in value]


class _AnyDataclass(type):
    def __instancecheck__(cls, value: object) -> bool:
        return dataclasses.is_dataclass(value)


class _Dataclass(metaclass=_AnyDataclass):
    """Stands for all dataclasses in `isinstance`."""


_PACKED: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (StrEnum, str),
    (Enum, lambda value: value.name),
    (str, str),
    (UUID, str),
    ((datetime, date), lambda value: value.isoformat()),
    (timedelta, lambda value: value // _MICROSECOND),
    (bytes, bytes.hex),
    (_Dataclass, _fields),
    (Mapping, lambda value: {str(pack(key)): pack(one) for key, one in value.items()}),
    ((list, tuple), _sequence),
    (Set, lambda value: sorted(pack(one) for one in value)),
)


def unpack(kind: Any, said: Any) -> Any:
    """Convert JSON data into a value of this type; raises `Unreadable` if it does not match."""
    try:
        return _reader(kind)(said)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Unreadable(f"{said!r:.80} is no {kind}") from error


Reader = Callable[[Any], Any]


@cache
def _reader(kind: Any) -> Reader:
    origin = get_origin(kind)
    if origin is Annotated:
        return _reader(get_args(kind)[0])
    if origin in (Union, UnionType):
        return _one_of(get_args(kind))
    if origin is not None:
        return _collection(origin, get_args(kind))
    return _PLAIN.get(kind) or _of_class(kind)


def _of_class(kind: Any) -> Reader:
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind if issubclass(kind, StrEnum) else lambda said: kind[said]
    if dataclasses.is_dataclass(kind) or hasattr(kind, "_fields"):
        return _record(kind)
    raise TypeError(f"{kind} does not travel")


def _exactly(kind: type) -> Reader:
    def read(said: Any) -> Any:
        if type(said) is not kind:
            raise TypeError(said)
        return said

    return read


def _number(said: Any) -> float:
    if type(said) not in (int, float):
        raise TypeError(said)
    return float(said)


_PLAIN: Mapping[Any, Reader] = {
    Any: lambda said: said,
    NoneType: _exactly(NoneType),
    str: _exactly(str),
    int: _exactly(int),
    bool: _exactly(bool),
    float: _number,
    UUID: UUID,
    bytes: bytes.fromhex,
    datetime: datetime.fromisoformat,
    date: date.fromisoformat,
    timedelta: lambda said: said * _MICROSECOND,
}


def _one_of(kinds: tuple[Any, ...]) -> Reader:
    """Return a reader that tries the types in order, so that specific types have to precede text."""
    readers = [(kind, _reader(kind)) for kind in kinds if kind is not NoneType]

    def read(said: Any) -> Any:
        if said is None and NoneType in kinds:
            return None
        for _, reader in readers[:-1]:
            try:
                return reader(said)
            except (ValueError, TypeError, KeyError, AttributeError):
                continue
        return readers[-1][1](said)

    return read


def _collection(origin: Any, given: tuple[Any, ...]) -> Reader:
    if issubclass(origin, Mapping):
        key, value = _reader(given[0]), _reader(given[1])
        return lambda said: {key(name): value(one) for name, one in said.items()}
    if origin is tuple and given[-1:] != (...,):
        readers = [_reader(one) for one in given]
        return lambda said: tuple(reader(one) for reader, one in zip(readers, said, strict=True))
    item = _reader(given[0])
    made = {tuple: tuple, frozenset: frozenset}.get(origin, list)
    return lambda said: made(item(one) for one in _exactly(list)(said))


def _record(kind: Any) -> Reader:
    """Return a reader of a record. Field types are resolved at first use, since records may contain their own type."""
    readers: dict[str, Reader] = {}

    def read(said: Any) -> Any:
        if not readers:
            hints = get_type_hints(kind, include_extras=True)
            names = getattr(kind, "_fields", None) or [one.name for one in dataclasses.fields(kind)]
            readers.update({name: _reader(hints[name]) for name in names})
        return kind(**{name: reader(said[name]) for name, reader in readers.items()})

    return read
