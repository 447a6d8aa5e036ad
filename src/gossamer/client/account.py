"""What a client can ask about the account, and about the server itself."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any
from uuid import UUID

import orjson

from gossamer.client import answers
from gossamer.client.transport import Call, Transport


class AccountCalls:
    """Limits, usage, keys; what may be forgotten; what the server is."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def account(self) -> answers.Account:
        return await self._transport.answer(Call("GET", "/v1/account", answers.Account))

    async def usage(self, first: date | None = None, last: date | None = None) -> Sequence[answers.Day]:
        """Day by day."""
        query = {"from": first, "to": last}
        return (await self._transport.answer(Call("GET", "/v1/usage", answers.Usage, query))).days

    async def requests(self, first: date | None = None, last: date | None = None) -> AsyncIterator[answers.Use]:
        """Every request that led to a job, newest first."""
        query = {"from": first, "to": last, "by": "request", "limit": 1_000}
        call, cursor = Call("GET", "/v1/usage", answers.Usage, query), None
        while True:
            page = await self._transport.answer(replace(call, query={**query, "cursor": cursor}))
            for use in page.items:
                yield use
            cursor = page.next_cursor
            if cursor is None:
                return

    async def keys(self) -> list[answers.Key]:
        return (await self._transport.answer(Call("GET", "/v1/keys", answers.Keys))).items

    async def create_key(self, name: str, scope: str = "read") -> answers.NewKey:
        """The key is in this answer, and nowhere else ever after."""
        return await self._transport.answer(
            Call("POST", "/v1/keys", answers.NewKey, body={"name": name, "scope": scope})
        )

    async def revoke_key(self, key_id: str) -> answers.Key:
        return await self._transport.answer(Call("DELETE", f"/v1/keys/{key_id}", answers.Key))

    async def forget(
        self,
        *,
        url: str | None = None,
        domain: str | None = None,
        job: UUID | str | None = None,
        dry_run: bool = False,
    ) -> answers.Forgotten:
        """Remove what all jobs, or one, have stored about a page or a domain."""
        query = {"url": url, "domain": domain, "job": job, "dry_run": dry_run}
        return await self._transport.answer(Call("DELETE", "/v1/records", answers.Forgotten, query))

    async def recipes(self) -> list[answers.Recipe]:
        return (await self._transport.answer(Call("GET", "/v1/recipes", answers.Recipes))).items

    async def health(self) -> answers.Health:
        return await self._transport.answer(Call("GET", "/api/health", answers.Health))

    async def ask(self, question: str, given: Mapping[str, Any]) -> Any:
        """What the command line asks: its questions are those of its own version, and no interface to rely on."""
        call = Call("POST", "/v1/questions", answers.Answer, body={"question": question, "given": given})
        _, _, text = await self._transport.whole(call)
        return orjson.loads(text)
