"""Server-sent events: from pieces of a stream to updates of a job."""

from collections.abc import AsyncIterator

from pydantic import ValidationError

from gossamer.client.answers import Update

_SAID_BY_JOBS = frozenset({"update", "end"})  # others say that the stream is over before the job is


async def updates(pieces: AsyncIterator[bytes]) -> AsyncIterator[Update]:
    """Of what is no update, only the end of it matters: then whoever reads comes again."""
    name = identifier = ""
    said: list[str] = []
    async for line in _lines(pieces):
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if line:
            if field == "event":
                name = value
            elif field == "id":
                identifier = value
            elif field == "data":
                said.append(value)
            continue
        if said and name in _SAID_BY_JOBS:
            try:
                yield Update.model_validate_json("\n".join(said)).model_copy(update={"event_id": identifier})
            except ValidationError:
                return
        elif said:
            return
        name, said = "", []


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[str]:
    rest = b""
    async for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield line.removesuffix(b"\r").decode()
