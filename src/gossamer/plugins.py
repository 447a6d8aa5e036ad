"""Plug-ins: `GOSSAMER_PLUGINS=module:VALUE,...` names rungs and recipes that each process loads at its start.

A value is of a type that has a `Registry`; its module must be importable: installed in the same
environment, or in a folder of PYTHONPATH. Only the environment can name plug-ins, because naming one
means running its code.
"""

import os
from importlib import import_module
from typing import Any

from gossamer.errors import UserError
from gossamer.model.registry import registry_of

_loaded: set[str] = set()


def load_plugins() -> None:
    """Add the plugins named in the environment; earlier ones stay unchanged.

    Raises UserError if one is invalid.
    """
    for entry in os.environ.get("GOSSAMER_PLUGINS", "").split(","):
        if (name := entry.strip()) and name not in _loaded:
            _add(name, _value_of(name))
            _loaded.add(name)


def _value_of(name: str) -> Any:
    module_name, colon, attribute = name.partition(":")
    if not (colon and attribute.isidentifier() and all(part.isidentifier() for part in module_name.split("."))):
        raise _unusable(f"has {name!r}, expected module:VALUE such as my_rungs:TOY")
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise _broken(name, error) from error
        raise _unusable(
            f"names {name}, and there is no module {module_name}",
            "Install it next to gossamer, or add its folder to PYTHONPATH.",
        ) from error
    except Exception as error:  # code of others may raise anything
        raise _broken(name, error) from error
    try:
        return getattr(module, attribute)
    except AttributeError as error:
        raise _unusable(f"names {name}, and the module has no {attribute}") from error


def _add(name: str, value: Any) -> None:
    registry = registry_of(value)
    if registry is None:
        raise _unusable(f"names {name}, a value of type {type(value).__name__}, expected a rung or a recipe")
    if registry.filled_by:
        import_module(registry.filled_by)
    try:
        registry.add(value)
    except ValueError as error:
        raise _unusable(f"names {name}, and {error}", "Give it a name of its own.") from error


def _broken(name: str, error: Exception) -> UserError:
    said = " ".join(str(error).split())
    return _unusable(f"names {name}, whose module cannot be imported: {type(error).__name__}: {said}", "Correct it.")


def _unusable(what: str, hint: str = "Correct it, or leave it out.") -> UserError:
    return UserError("plugins.unusable", f"GOSSAMER_PLUGINS {what}.", hint=hint)
