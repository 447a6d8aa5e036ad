"""The asynchronous client, with its calls about the account and webhooks."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, Self
from uuid import UUID

import orjson

from gossamer.client import answers
from gossamer.client.jobs import FileCalls, JobCalls
from gossamer.client.transport import PATIENCE, TIMEOUT, Call, Transport


class AccountCalls:
    """Calls about the account: limits, usage, keys, erasing; and about the server."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def account(self) -> answers.AccountStatus:
        return await self._transport.answer(Call("GET", "/v1/account", answers.AccountStatus))

    async def usage(self, first: date | None = None, last: date | None = None) -> Sequence[answers.Day]:
        """Return the usage of each day."""
        query = {"from": first, "to": last}
        return (await self._transport.answer(Call("GET", "/v1/usage", answers.Usage, query))).days

    async def requests(self, first: date | None = None, last: date | None = None) -> AsyncIterator[answers.Use]:
        """Yield every request that created a job, newest first."""
        query = {"from": first, "to": last, "by": "request", "limit": 1_000}
        async for page in self._transport.pages(Call("GET", "/v1/usage", answers.Usage, query)):
            for use in page.items:
                yield use

    async def keys(self) -> list[answers.Key]:
        return (await self._transport.answer(Call("GET", "/v1/keys", answers.Keys))).items

    async def create_key(self, name: str, scope: str = "read") -> answers.CreatedKey:
        """Create a key, which is shown in this answer only."""
        return await self._transport.answer(
            Call("POST", "/v1/keys", answers.CreatedKey, body={"name": name, "scope": scope})
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
        """Send a question of the command line.

        Questions belong to one version of the program: not a stable interface.
        """
        call = Call("POST", "/v1/questions", answers.Answer, body={"question": question, "given": given})
        _, _, text = await self._transport.whole(call)
        return orjson.loads(text)


HookId = UUID | str


class WebhookCalls:
    """Calls about the account's webhooks."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def webhooks(self) -> list[answers.Webhook]:
        return (await self._transport.answer(Call("GET", "/v1/webhooks", answers.Webhooks))).items

    async def webhook(self, webhook: HookId) -> answers.Webhook:
        return await self._transport.answer(Call("GET", f"/v1/webhooks/{webhook}", answers.Webhook))

    async def add_webhook(self, url: str, *, events: Sequence[str] = ()) -> answers.NewWebhook:
        """Add a webhook; without `events`, for all but job.pages. Its secret is shown in this answer only."""
        body = {"url": url, "events": list(events)}
        return await self._transport.answer(Call("POST", "/v1/webhooks", answers.NewWebhook, body=body))

    async def change_webhook(
        self,
        webhook: HookId,
        *,
        url: str | None = None,
        events: Sequence[str] | None = None,
        enabled: bool | None = None,
    ) -> answers.Webhook:
        """Change a webhook. Arguments that are not given leave their values unchanged."""
        given = {"url": url, "events": None if events is None else list(events), "enabled": enabled}
        body = {name: value for name, value in given.items() if value is not None}
        return await self._transport.answer(Call("PATCH", f"/v1/webhooks/{webhook}", answers.Webhook, body=body))

    async def rotate_webhook(self, webhook: HookId, *, overlap_hours: float = 24.0) -> answers.NewWebhook:
        """Replace the secret; the old one signs as well for a while."""
        body = {"overlap_hours": overlap_hours}
        return await self._transport.answer(
            Call("POST", f"/v1/webhooks/{webhook}/rotate", answers.NewWebhook, body=body)
        )

    async def remove_webhook(self, webhook: HookId) -> None:
        await self._transport.whole(Call("DELETE", f"/v1/webhooks/{webhook}", answers.Answer))

    async def test_webhook(self, webhook: HookId) -> answers.Delivery:
        """Send a test message. The process that works on the jobs sends it: its delivery shows the response."""
        return await self._transport.answer(Call("POST", f"/v1/webhooks/{webhook}/test", answers.Delivery))

    async def deliveries(self, webhook: HookId, *, state: str | None = None) -> AsyncIterator[answers.Delivery]:
        """Yield the deliveries of the last 30 days, newest first."""
        call = Call("GET", f"/v1/webhooks/{webhook}/deliveries", answers.DeliveryPage, {"state": state, "limit": 200})
        async for page in self._transport.pages(call):
            for one in page.items:
                yield one

    async def delivery(self, webhook: HookId, delivery: HookId) -> answers.Delivery:
        path = f"/v1/webhooks/{webhook}/deliveries/{delivery}"
        return await self._transport.answer(Call("GET", path, answers.Delivery))

    async def replay(self, webhook: HookId, delivery: HookId) -> answers.Delivery:
        """Send a message again, with the same id."""
        path = f"/v1/webhooks/{webhook}/deliveries/{delivery}/replay"
        return await self._transport.answer(Call("POST", path, answers.Delivery))

    async def replay_failed(self, webhook: HookId, *, since: datetime | None = None) -> int:
        """Send all undelivered messages again; return their number."""
        query = {"since": since.isoformat() if since else None}
        call = Call("POST", f"/v1/webhooks/{webhook}/replay-failed", answers.Replayed, query)
        return (await self._transport.answer(call)).replayed


class AsyncClient(JobCalls, FileCalls, WebhookCalls, AccountCalls):
    """Connection to a Gossamer server with one key. `async with AsyncClient(url, key) as client: ...`"""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        timeout: timedelta = TIMEOUT,
        patience: timedelta = PATIENCE,
        ca_file: Path | None = None,
    ) -> None:
        """`timeout` is for one response; `patience` is the total wait for a busy server (429, 503)."""
        super().__init__(Transport(url, key, timeout=timeout, patience=patience, ca_file=ca_file))

    @property
    def url(self) -> str:
        return self._transport.url

    async def close(self) -> None:
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
