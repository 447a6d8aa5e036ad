"""How answers are written."""

from typing import Any

import orjson
from starlette.responses import Response


class JsonAnswer(Response):
    """JSON by the library that everything else here uses."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return orjson.dumps(content, default=str, option=orjson.OPT_NON_STR_KEYS)
