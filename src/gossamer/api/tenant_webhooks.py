"""The webhooks of one account: like `Tenant`, for notifying other programs.

Every query here includes the account.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from uuid import UUID

from gossamer.app import App, key_seals, open_poster
from gossamer.model.webhook import Delivery, DeliveryState, Endpoint, EventType
from gossamer.webhooks import service as webhook_service
from gossamer.webhooks.service import Made


class TenantWebhooks:
    def __init__(self, app: App, account: str) -> None:
        self.id = account
        self._app = app

    async def all(self) -> list[Endpoint]:
        return await webhook_service.everything(self._app.database, self.id)

    async def get(self, webhook_id: UUID) -> Endpoint:
        return await webhook_service.get(self._app.database, self.id, webhook_id)

    async def add(self, url: str, events: Collection[EventType]) -> Made:
        async with open_poster(self._app.settings, self._app.clock) as addresses:
            return await webhook_service.add(
                self._app.database, addresses, key_seals(self._app.settings), self.id, url, events
            )

    async def change(self, webhook_id: UUID, url: str | None, events: Collection[EventType] | None) -> Endpoint:
        async with open_poster(self._app.settings, self._app.clock) as addresses:
            return await webhook_service.change(
                self._app.database, addresses, self.id, webhook_id, url=url, events=events
            )

    async def switch(self, webhook_id: UUID, *, on: bool) -> Endpoint:
        if on:
            return await webhook_service.enable(self._app.database, self.id, webhook_id)
        return await webhook_service.disable(self._app.database, self.id, webhook_id)

    async def remove(self, webhook_id: UUID) -> None:
        await webhook_service.remove(self._app.database, self.id, webhook_id)

    async def rotate(self, webhook_id: UUID, overlap: timedelta) -> str:
        return await webhook_service.rotate(
            self._app.database, key_seals(self._app.settings), self.id, webhook_id, overlap
        )

    async def send_test(self, webhook_id: UUID) -> Delivery:
        return await webhook_service.send_test(self._app.database, self.id, webhook_id)

    async def log(
        self, webhook_id: UUID, state: DeliveryState | None, before: UUID | None, limit: int
    ) -> list[Delivery]:
        await self.get(webhook_id)
        return await webhook_service.log(
            self._app.database, self.id, webhook_id, state=state, before=before, limit=limit
        )

    async def delivery(self, webhook_id: UUID, delivery_id: UUID) -> Delivery:
        """One of this webhook: one of another is none."""
        found = await webhook_service.delivery(self._app.database, self.id, delivery_id)
        if found.endpoint_id != webhook_id:
            raise webhook_service.no_delivery(delivery_id)
        return found

    async def replay(self, webhook_id: UUID, delivery_id: UUID) -> Delivery:
        await self.delivery(webhook_id, delivery_id)
        return await webhook_service.replay(self._app.database, self.id, delivery_id)

    async def replay_failed(self, webhook_id: UUID, since: datetime | None) -> int:
        return await webhook_service.replay_failed(self._app.database, self.id, webhook_id, since)
