"""Routes that refuse a request in the same order on every endpoint.

429  too many failed keys of this address     checked by the headers alone, before the body is read
401  no key, or a wrong one
403  a key that may not do this
429  too many requests of this key
402  no credits left (429: no room for another job), on endpoints that cost something
400  an invalid request: its size, its body, its fields
402  this request costs more than is left
404  the object does not exist
"""

from collections.abc import Callable, Coroutine, Iterator
from typing import Any, get_origin

from annotated_types import MaxLen
from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.responses import Response

from gossamer.api.bodies import Body, no_text
from gossamer.api.caller import Caller, KeyAccess, Keyless, tenant_of
from gossamer.api.dependencies import Parts
from gossamer.api.problems import Limited
from gossamer.api.stale_cache import StaleCache
from gossamer.api.views import JsonAnswer
from gossamer.errors import StorageAway, UserError
from gossamer.store.accounts import NotTheirs

LONGEST_PARAMETER = 200
"""Characters of one parameter in a path, unless the route says otherwise."""

# Errors in the request itself, or in the objects it names: reported only if the account can pay.
_LATER = (RequestValidationError, HTTPException, UserError, NotTheirs)
_OF_THE_ACCOUNT = ("account.credits", "account.queue")


class Guarded(APIRoute):
    """Route that refuses requests in this order."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        access = next(_guards(self.dependant), None)
        reads = self.body_field is not None
        longest = {name: _longest(self.dependant, name) for name in self.param_convertors}
        longest_list = longest_list_of(self.dependant)

        async def answered(request: Request) -> Response:
            parts: Parts = request.app.state.parts
            caller = await access.admit(request, parts) if access else None
            try:
                _look_at_head(request, caller, longest, longest_list)
                if reads:
                    await _read(request)
                return await handle(request)
            except _LATER as error:
                if isinstance(access, KeyAccess) and caller:
                    await _refuse_unpaid(access, request, parts, caller, error)
                raise

        return answered


class ReadAgain(Guarded):
    """Route whose recent answers are repeated, marked as stale, while the database is away."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        if self.methods != {"GET"}:
            return handle

        async def answered(request: Request) -> Response:
            memory: StaleCache = request.app.state.parts.stale_cache
            address = f"{request.url.path}?{request.url.query}"
            try:
                answer = await handle(request)
            except StorageAway:
                caller: Caller | None = request.scope["state"].get("caller")
                known = memory.answer(caller.account, address) if caller else None
                if known is None:
                    raise
                return known
            caller = request.scope["state"].get("caller")
            if caller and answer.status_code == 200 and answer.media_type == JsonAnswer.media_type:
                memory.keep(caller.account, address, bytes(answer.body))
            return answer

        return answered


def _guards(dependant: Dependant) -> Iterator[KeyAccess | Keyless]:
    for one in dependant.dependencies:
        if isinstance(one.call, KeyAccess | Keyless):
            yield one.call
        yield from _guards(one)


def _longest(dependant: Dependant, name: str) -> int:
    field = next((one for one in dependant.path_params if one.alias == name), None)
    limits: list[int] = [
        one.max_length for one in (field.field_info.metadata if field else ()) if isinstance(one, MaxLen)
    ]
    return max([LONGEST_PARAMETER, *limits])


def longest_list_of(dependant: Dependant) -> int:
    """Return the number of entries of the longest list that a body of this route may have."""
    shapes = [one.field_info.annotation for one in dependant.body_params]
    known = [one for one in shapes if isinstance(one, type) and issubclass(one, BaseModel)]
    fields = [field for shape in known for field in shape.model_fields.values() if get_origin(field.annotation) is list]
    return max((one.max_length for field in fields for one in field.metadata if isinstance(one, MaxLen)), default=0)


def _look_at_head(request: Request, caller: Caller | None, longest: dict[str, int], longest_list: int) -> None:
    scope = request.scope
    for name, value in request.path_params.items():
        if len(str(value)) > longest[name]:
            detail = f"#/path/{name}: it has more than {longest[name]} characters."
            raise UserError("request.invalid", detail, hint="See /docs for what is expected.")
    if b"%00" in scope.get("query_string", b"") or b"%00" in scope.get("raw_path", b""):
        raise no_text()
    body: Body = scope["state"]["body"]
    body.open(caller.account if caller else "", longest_list)


async def _read(request: Request) -> None:
    """Read the whole body; the request keeps it for later readers."""
    try:
        await request.body()
    except ClientDisconnect as error:
        detail = "The request ended before its body did."
        raise UserError("request.invalid", detail, hint="Send it again.") from error


async def _refuse_unpaid(
    access: KeyAccess, connection: HTTPConnection, parts: Parts, caller: Caller, error: Exception
) -> None:
    """Refuse an account that cannot pay, regardless of other errors in its request."""
    if access.spends is None or isinstance(error, Limited | StorageAway):
        return
    if isinstance(error, UserError) and error.code in _OF_THE_ACCOUNT:
        return
    key = connection.headers.get("idempotency-key") or connection.headers.get("x-idempotency-key")
    await access.spends(tenant_of(parts, caller), key)
