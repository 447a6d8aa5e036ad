"""Live updates as server-sent events and over WebSocket, from the same address."""

import asyncio
from collections.abc import Callable
from typing import Annotated
from uuid import UUID

import orjson
from fastapi import APIRouter, Depends, Header, Query, WebSocket
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect

from gossamer.api.caller import Caller, KeyAccess
from gossamer.api.dependencies import GivenParts, Parts
from gossamer.api.error_codes import declared
from gossamer.api.guarded import Guarded
from gossamer.api.live import Live, TooSlow, Update
from gossamer.api.problems import Limited, of_user_error, problem
from gossamer.errors import GossamerError, UserError
from gossamer.model.account import Right
from gossamer.store import accounts
from gossamer.store.accounts import NotTheirs

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["live"], route_class=Guarded)

FOLLOWER = KeyAccess(Right.READ, in_query=True)
_PATIENCE = 30.0  # seconds in which a client has to read what was sent
_SLOW = "slow"
_OTHER_TRY = 1013  # WebSocket close code: try again later
_GOING_AWAY = 1001


class EventStream(Response):
    """Server-sent events until the job is over. Clients that do not read are disconnected."""

    media_type = "text/event-stream"

    def __init__(
        self,
        live: Live,
        account: str,
        job_id: UUID,
        after: UUID | None,
        written: Callable[[Update], str] | None = None,
    ) -> None:
        super().__init__(headers={"X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._live, self._account, self._job_id, self._after = live, account, job_id, after
        self._written = written or _event

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        telling = asyncio.create_task(self._tell(send))
        leaving = asyncio.create_task(_left(receive))
        try:
            await asyncio.wait((telling, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            if not telling.done():
                telling.cancel()
        if telling.done() and not telling.cancelled():
            telling.result()

    async def _tell(self, send: Send) -> None:
        async def say(text: str) -> None:
            async with asyncio.timeout(_PATIENCE):
                await send({"type": "http.response.body", "body": text.encode(), "more_body": True})

        async with self._live.follow(self._account, self._job_id, self._after) as follower:
            try:
                await say("retry: 2000\n\n")
                while True:
                    try:
                        update = await follower.next()
                    except TimeoutError:
                        await say(": still here\n\n")
                        continue
                    if update is None:
                        await say('event: bye\ndata: {"type":"bye"}\n\n')
                        break
                    await say(self._written(update))
                    if update.is_last:
                        break
            except TooSlow as error:
                await say(f"event: {_SLOW}\ndata: {orjson.dumps({'type': _SLOW, 'detail': str(error)}).decode()}\n\n")
            except TimeoutError:
                return  # the client does not read
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _event(update: Update) -> str:
    said = update.as_json()
    name = f"id: {update.last}\n" if update.last else ""
    return f"{name}event: {said['type']}\ndata: {orjson.dumps(said).decode()}\n\n"


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue


@router.get(
    "/live",
    response_class=Response,
    responses={**declared("job.not_found"), 200: {"description": "Updates.", "content": {"text/event-stream": {}}}},
    summary="Follow a job (server-sent events)",
)
async def follow(
    job_id: UUID,
    request: Request,
    parts: GivenParts,
    _: Annotated[Caller, Depends(FOLLOWER)],
    last_event_id: Annotated[str | None, Header(alias="Last-Event-ID", max_length=100)] = None,
    access_token: Annotated[
        str | None, Query(max_length=2_000, description="Access token of a login, for browsers.")
    ] = None,
) -> Response:
    """Stream up to four updates a second. After a break, `Last-Event-ID` continues where the stream ended.

    The same address accepts WebSocket connections, with `?last_event_id=`.
    """
    caller = await reader_of(request, parts, job_id)
    return EventStream(parts.live, caller.account, job_id, _id(last_event_id))


@router.websocket("/live")
async def follow_socket(socket: WebSocket, job_id: str, parts: GivenParts) -> None:
    try:
        await FOLLOWER(socket, parts)
        identifier = UUID(job_id)
        caller = await reader_of(socket, parts, identifier)
    except (ValueError, UserError, Limited, NotTheirs) as error:
        await socket.send_denial_response(_refusal(socket, error))
        return
    await socket.accept()
    listening = asyncio.create_task(_drained(socket))
    telling = asyncio.create_task(_tell(socket, parts.live, caller, identifier))
    await asyncio.wait((listening, telling), return_when=asyncio.FIRST_COMPLETED)
    for task in (listening, telling):
        task.cancel()
    await asyncio.gather(listening, telling, return_exceptions=True)


async def _tell(socket: WebSocket, live: Live, caller: Caller, job_id: UUID) -> None:
    after = _id(socket.query_params.get("last_event_id"))
    async with live.follow(caller.account, job_id, after) as follower:
        try:
            while True:
                try:
                    update = await follower.next()
                except TimeoutError:
                    await _say(socket, {"type": "heartbeat"})
                    continue
                if update is None:
                    await socket.close(_GOING_AWAY, "the server is being stopped")
                    return
                await _say(socket, {**update.as_json(), "id": str(update.last) if update.last else None})
                if update.is_last:
                    await socket.close(1000, "the job is over")
                    return
        except TooSlow:
            await socket.close(_OTHER_TRY, "you read too slowly")
        except TimeoutError:
            return  # the client does not read


async def _say(socket: WebSocket, said: object) -> None:
    async with asyncio.timeout(_PATIENCE):
        await socket.send_text(orjson.dumps(said).decode())


async def _drained(socket: WebSocket) -> None:
    """Read and discard messages until the client disconnects."""
    try:
        while True:
            await socket.receive_text()
    except (WebSocketDisconnect, RuntimeError, KeyError):
        return


async def reader_of(connection: HTTPConnection, parts: Parts, job_id: UUID) -> Caller:
    """Return the caller, if the job belongs to their account."""
    caller = await FOLLOWER(connection, parts)
    if await parts.app.database.read(accounts.job, caller.account, job_id) is None:
        raise NotTheirs(f"There is no job {job_id}.")
    return caller


def _refusal(socket: WebSocket, error: Exception) -> Response:
    identifier = str(socket.scope["state"]["request_id"])
    if isinstance(error, Limited):
        return of_user_error(identifier, error.error, error.headers)
    if isinstance(error, UserError):
        return of_user_error(identifier, error)
    detail = str(error) if isinstance(error, GossamerError) else "There is no such job."
    return problem(identifier, 404, "job.not_found", detail)


def _id(text: str | None) -> UUID | None:
    try:
        return UUID(text) if text else None
    except ValueError:
        return None
