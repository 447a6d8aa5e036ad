"""Settings that the table of rungs names: each becomes a field of `Settings`, also where a plug-in has brought it."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, SecretStr
from pydantic.fields import FieldInfo

from gossamer.errors import UserError
from gossamer.model.rungs import Form, RungSetting, all_settings
from gossamer.settings.types import a_key, an_endpoint, setting

_BEFORE = "forward_proxy_listen"  # where they stand in the reference

_added: dict[str, RungSetting] = {}


def add_rung_settings(shape: type[BaseModel]) -> None:
    """Add the settings of rungs that were added since the last call. Raises UserError if a name is taken."""
    fields = shape.model_fields
    new = [one for one in all_settings() if _added.get(one.name) != one]
    if not new:
        return
    for one in new:
        if one.name in fields:
            raise UserError(
                "plugins.setting",
                f"A rung needs the setting {one.name}, and there is another one of that name.",
                hint="Give the setting in the rung's row a name of its own.",
            )
        _added[one.name] = one
    before = list(fields)[: list(fields).index(_BEFORE)]
    ordered = {name: fields[name] for name in before} | {one.name: _FIELDS[one.form](one) for one in new}
    ordered |= {name: field for name, field in fields.items() if name not in ordered}
    fields.clear()
    fields.update(ordered)
    shape.model_rebuild(force=True)


def _key(one: RungSetting) -> FieldInfo:
    return _field(one, Annotated[SecretStr, BeforeValidator(a_key)] | None, default=None)


def _address(one: RungSetting) -> FieldInfo:
    return _field(one, Annotated[str, BeforeValidator(an_endpoint)] | None, default=None)


def _number(one: RungSetting) -> FieldInfo:
    return _field(one, int, default=one.default, gt=0)


def _field(one: RungSetting, form: Any, **limits: Any) -> FieldInfo:
    if one.spellings:
        limits["validation_alias"] = AliasChoices(one.variable, *one.spellings)
    return FieldInfo.from_annotated_attribute(form, setting(one.meaning, one.expected, **limits))


_FIELDS: Mapping[Form, Callable[[RungSetting], FieldInfo]] = {
    Form.KEY: _key,
    Form.ADDRESS: _address,
    Form.NUMBER: _number,
}
