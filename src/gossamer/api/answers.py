"""Serialization of responses."""

from typing import Any

import orjson
from pydantic import BaseModel
from starlette.responses import JSONResponse


class JsonAnswer(JSONResponse):
    """JSON response, encoded by orjson as everywhere else.

    It derives from JSONResponse because the OpenAPI schema describes the fields only for that class.
    """

    def render(self, content: Any) -> bytes:
        return orjson.dumps(content, default=str, option=orjson.OPT_NON_STR_KEYS)


class ShapedAnswer(JsonAnswer):
    """Response whose content has been validated already.

    A second validation would take longer than everything else.
    """

    def __init__(self, shaped: BaseModel) -> None:
        super().__init__(shaped)

    def render(self, content: BaseModel) -> bytes:
        return content.__pydantic_serializer__.to_json(content)
