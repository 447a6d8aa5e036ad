"""How answers are written."""

from typing import Any

import orjson
from pydantic import BaseModel
from starlette.responses import JSONResponse


class JsonAnswer(JSONResponse):
    """JSON by the library that everything else here uses. Only of a JSONResponse the description tells the fields."""

    def render(self, content: Any) -> bytes:
        return orjson.dumps(content, default=str, option=orjson.OPT_NON_STR_KEYS)


class ShapedAnswer(JsonAnswer):
    """What is of its shape already: it is not held against it a second time, which takes longer than all the rest."""

    def __init__(self, shaped: BaseModel) -> None:
        super().__init__(shaped)

    def render(self, content: BaseModel) -> bytes:
        return content.__pydantic_serializer__.to_json(content)
