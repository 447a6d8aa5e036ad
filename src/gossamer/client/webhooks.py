"""What a client can ask about webhooks: who is told what happens, and what was sent to them."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from gossamer.client import answers
from gossamer.client.transport import Call, Transport

HookId = UUID | str


class WebhookCalls:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def webhooks(self) -> list[answers.Webhook]:
        return (await self._transport.answer(Call("GET", "/v1/webhooks", answers.Webhooks))).items

    async def webhook(self, webhook: HookId) -> answers.Webhook:
        return await self._transport.answer(Call("GET", f"/v1/webhooks/{webhook}", answers.Webhook))

    async def add_webhook(self, url: str, *, events: Sequence[str] = ()) -> answers.NewWebhook:
        """Its secret is in this answer, and nowhere else ever after. Without `events`: all but job.pages."""
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
        """What is not given stays as it is."""
        given = {"url": url, "events": None if events is None else list(events), "enabled": enabled}
        body = {name: value for name, value in given.items() if value is not None}
        return await self._transport.answer(Call("PATCH", f"/v1/webhooks/{webhook}", answers.Webhook, body=body))

    async def rotate_webhook(self, webhook: HookId, *, overlap_hours: float = 24.0) -> answers.NewWebhook:
        """A new secret; the present one signs as well for a while."""
        body = {"overlap_hours": overlap_hours}
        return await self._transport.answer(
            Call("POST", f"/v1/webhooks/{webhook}/rotate", answers.NewWebhook, body=body)
        )

    async def remove_webhook(self, webhook: HookId) -> None:
        await self._transport.whole(Call("DELETE", f"/v1/webhooks/{webhook}", answers.Answer))

    async def test_webhook(self, webhook: HookId) -> answers.Delivery:
        """It is sent by whoever works the jobs: look at its delivery for what came back."""
        return await self._transport.answer(Call("POST", f"/v1/webhooks/{webhook}/test", answers.Delivery))

    async def deliveries(self, webhook: HookId, *, state: str | None = None) -> AsyncIterator[answers.Delivery]:
        """Newest first, for 30 days."""
        call = Call("GET", f"/v1/webhooks/{webhook}/deliveries", answers.DeliveryPage, {"state": state, "limit": 200})
        cursor: str | None = None
        while True:
            page = await self._transport.answer(replace(call, query={**call.query, "cursor": cursor}))
            for one in page.items:
                yield one
            cursor = page.next_cursor
            if cursor is None:
                return

    async def delivery(self, webhook: HookId, delivery: HookId) -> answers.Delivery:
        path = f"/v1/webhooks/{webhook}/deliveries/{delivery}"
        return await self._transport.answer(Call("GET", path, answers.Delivery))

    async def replay(self, webhook: HookId, delivery: HookId) -> answers.Delivery:
        """The same message under the same id, once more."""
        path = f"/v1/webhooks/{webhook}/deliveries/{delivery}/replay"
        return await self._transport.answer(Call("POST", path, answers.Delivery))

    async def replay_failed(self, webhook: HookId, *, since: datetime | None = None) -> int:
        """Everything that was given up; how many messages that are."""
        query = {"since": since.isoformat() if since else None}
        call = Call("POST", f"/v1/webhooks/{webhook}/replay-failed", answers.Replayed, query)
        return (await self._transport.answer(call)).replayed
