"""Values of one type by name: those the program ships with, and those that plug-ins add."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Protocol, TypeVar


class Named(Protocol):
    """A value that can be looked up by its name."""

    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=Named)


class Registry(Mapping[str, T]):
    """A mapping of names to values, in the order in which they were added.

    A name can be used once. There is one registry per type, shared by all plug-ins.
    """

    def __init__(self, noun: str, of: type[T], values: Iterable[T] = (), *, filled_by: str = "") -> None:
        """`noun` names such a value in messages. `filled_by` is the module that adds the built-in values, if that
        is not the module of the registry itself."""
        self.noun = noun
        self.filled_by = filled_by
        self._values: dict[str, T] = {}
        for value in values:
            self.add(value)
        _registries[of] = self

    def add(self, value: T) -> None:
        """Add a value. Raises ValueError if its name is taken."""
        if value.name in self._values:
            raise ValueError(f"there is a {self.noun} {value.name!r} already")
        self._values[value.name] = value

    def __getitem__(self, name: str) -> T:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


_registries: dict[type, Registry[Any]] = {}


def registry_of(value: object) -> Registry[Any] | None:
    """Return the registry for values of this type; None if plug-ins cannot add such values."""
    return next((registry for of, registry in _registries.items() if isinstance(value, of)), None)


@cache
def resolve(reference: str) -> Any:
    """Import the object named by `module:name`.

    Tables refer to code this way to avoid loading it with the table.
    """
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)
