"""Error messages for invalid fields, and a base for models that refuse unknown fields."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

UNKNOWN = "unknown_field"

_LONGEST_NAME = 100
_MOST_UNKNOWN = 5  # reported per request: a body may have a million of them

_WORDS: Mapping[str, str] = {
    "missing": "it is missing",
    "string_type": "it has to be text",
    "int_type": "it has to be a whole number",
    "int_parsing": "it has to be a whole number",
    "int_from_float": "it has to be a whole number",
    "int_parsing_size": "the number is too large",
    "float_type": "it has to be a number",
    "float_parsing": "it has to be a number",
    "finite_number": "it has to be a finite number",
    "bool_type": "it has to be true or false",
    "bool_parsing": "it has to be true or false",
    "list_type": "it has to be a list",
    "dict_type": "it has to be an object",
    "model_type": "it has to be an object",
    "model_attributes_type": "it has to be an object",
    "uuid_type": "it has to be an id",
    "uuid_parsing": "it has to be an id, of 36 characters",
    "string_too_long": "it has more than {max_length:,} characters",
    "string_too_short": "it has fewer than {min_length:,} characters",
    "too_long": "it has more than {max_length:,} entries",
    "too_short": "it has fewer than {min_length:,} entries",
    "greater_than_equal": "it has to be {ge} or more",
    "greater_than": "it has to be more than {gt}",
    "less_than_equal": "it has to be {le} or less",
    "less_than": "it has to be less than {lt}",
    "enum": "it has to be {expected}",
    "literal_error": "it has to be {expected}",
}


class Strict(BaseModel):
    """A model that rejects unknown fields by name and suggests the name that may have been meant."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _knows(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        known = _names(cls)
        unknown: list[InitErrorDetails] = []
        for name in given:
            if name not in known:
                unknown.append(_unknown(str(name)[:_LONGEST_NAME], known))
                if len(unknown) == _MOST_UNKNOWN:
                    break
        if unknown:
            raise ValidationError.from_exception_data(cls.__name__, unknown)
        return given


def meant(given: str, known: Iterable[str]) -> str:
    """Return `Did you mean markdown? ` with a trailing space, or "" without a similar name."""
    near = get_close_matches(given, [str(one) for one in known], 1)
    return f"Did you mean {near[0]}? " if near else ""


def sentence_of(error: Mapping[str, Any]) -> str:
    """Return one of pydantic's errors as a sentence, in our words if there are any."""
    words = _WORDS.get(str(error["type"]))
    if words is None:
        return str(error["msg"]).removeprefix("Value error, ")
    try:
        return words.format(**error.get("ctx", {}))
    except (KeyError, ValueError):
        return str(error["msg"])


def _unknown(name: str, known: tuple[str, ...]) -> InitErrorDetails:
    near = get_close_matches(name, known, 1)
    meant = "; did you mean `{near}`?" if near else ""
    values = {"name": name, "near": near[0] if near else ""}
    error = PydanticCustomError(UNKNOWN, "unknown field `{name}`" + meant, values)
    return InitErrorDetails(type=error, loc=(name,), input=None)


@cache
def _names(shape: type[BaseModel]) -> tuple[str, ...]:
    """Return the names that its fields accept."""
    by_name = bool(shape.model_config.get("populate_by_name") or shape.model_config.get("validate_by_name"))
    names: dict[str, None] = {}
    for name, field in shape.model_fields.items():
        alias = field.validation_alias or field.alias
        said = alias.choices if isinstance(alias, AliasChoices) else [alias] if alias else []
        names |= dict.fromkeys(one for one in said if isinstance(one, str))
        if by_name or not said:
            names[name] = None
    return tuple(names)
