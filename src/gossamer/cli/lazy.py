"""Modules that are loaded at first use, so that commands start, show help and complete quickly."""

from importlib import import_module
from typing import Any


class LazyModule:
    """A module that is loaded when something of it is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


def lazy_module(name: str) -> Any:
    """Name a module to be loaded at first use. Type checkers see the module itself, imported under TYPE_CHECKING."""
    return LazyModule(name)
