"""The client for programs that have an event loop."""

from datetime import timedelta
from pathlib import Path
from typing import Self

from gossamer.client.account import AccountCalls
from gossamer.client.files import FileCalls
from gossamer.client.jobs import JobCalls
from gossamer.client.transport import PATIENCE, TIMEOUT, Transport
from gossamer.client.webhooks import WebhookCalls


class AsyncClient(JobCalls, FileCalls, WebhookCalls, AccountCalls):
    """A Gossamer server, as one key sees it. `async with AsyncClient(url, key) as client: ...`"""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        timeout: timedelta = TIMEOUT,
        patience: timedelta = PATIENCE,
        ca_file: Path | None = None,
    ) -> None:
        """`timeout` is for one answer; `patience` is how long a busy server (429, 503) is waited for in all."""
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
