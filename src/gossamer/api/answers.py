"""How answers are written."""

from typing import Any

import orjson
from starlette.responses import JSONResponse


class JsonAnswer(JSONResponse):
    """JSON by the library that everything else here uses. Only of a JSONResponse the description tells the fields."""

    def render(self, content: Any) -> bytes:
        return orjson.dumps(content, default=str, option=orjson.OPT_NON_STR_KEYS)
