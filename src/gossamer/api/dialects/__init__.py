"""Endpoints compatible with other products: programs can switch by changing an address.

Each dialect translates its requests into ours; `speaking` makes its errors look like those of the product.
"""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from gossamer.api.guarded import Guarded
from gossamer.api.problems import answer_to
from gossamer.api.views import JsonAnswer

Shape = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Convert one of our problems into the error body of that product."""

_KEPT = ("retry-after", "www-authenticate")


def speaking(shape: Shape) -> type[Guarded]:
    """Return a route class whose errors have this shape."""

    class DialectRoute(Guarded):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = super().get_route_handler()

            async def answered(request: Request) -> Response:
                try:
                    return await handle(request)
                except Exception as error:
                    ours = answer_to(request, error)
                    if ours is None:
                        raise
                    headers = {name: ours.headers[name] for name in _KEPT if name in ours.headers}
                    return JsonAnswer(shape(orjson.loads(ours.body)), ours.status_code, headers)

            return answered

    return DialectRoute


def sentence(problem: Mapping[str, Any]) -> str:
    """Return the problem and the next step in one line."""
    return f"{problem['detail']} {problem.get('hint') or ''}".strip()
