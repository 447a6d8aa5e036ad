"""The blocking client: each call waits for its answer.

It runs the asynchronous client in a thread of its own, so that it also works in a notebook, whose thread has a running
event loop.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from datetime import timedelta
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from gossamer.client.asynchronous import AsyncClient
from gossamer.client.transport import PATIENCE, TIMEOUT

P = ParamSpec("P")
T = TypeVar("T")


def _waited(method: Callable[Concatenate[Any, P], Awaitable[T]]) -> Callable[Concatenate["Client", P], T]:
    @wraps(method)
    def call(self: "Client", /, *args: P.args, **kwargs: P.kwargs) -> T:
        async def whole() -> T:
            return await method(self._inner, *args, **kwargs)

        return self._run(whole())

    return call


def _listed(method: Callable[Concatenate[Any, P], AsyncIterator[T]]) -> Callable[Concatenate["Client", P], Iterator[T]]:
    @wraps(method)
    def call(self: "Client", /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        items = method(self._inner, *args, **kwargs)

        async def following() -> tuple[T] | None:
            async for item in items:
                return (item,)
            return None

        try:
            while (one := self._run(following())) is not None:
                yield one[0]
        finally:
            self._run(_closed(items))

    return call


async def _closed(items: AsyncIterator[Any]) -> None:
    close = getattr(items, "aclose", None)
    if close:
        await close()


class Client:
    """Connection to a Gossamer server with one key. `with Client(url, key) as client: ...`"""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        timeout: timedelta = TIMEOUT,
        patience: timedelta = PATIENCE,
        ca_file: Path | None = None,
    ) -> None:
        self._inner = AsyncClient(url, key, timeout=timeout, patience=patience, ca_file=ca_file)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="gossamer-client", daemon=True)
        self._thread.start()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        waiting = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return waiting.result()
        except BaseException:
            waiting.cancel()  # Ctrl-C while waiting: the answer is no longer needed
            raise

    def close(self) -> None:
        if self._loop.is_closed():
            return
        self._run(self._inner.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        return self._inner.url

    scrape = _waited(AsyncClient.scrape)
    scrape_later = _waited(AsyncClient.scrape_later)
    batch = _waited(AsyncClient.batch)
    submit = _waited(AsyncClient.submit)
    estimate = _waited(AsyncClient.estimate)
    jobs = _listed(AsyncClient.jobs)
    job = _waited(AsyncClient.job)
    results = _listed(AsyncClient.results)
    errors = _listed(AsyncClient.errors)
    urls = _listed(AsyncClient.urls)
    pause = _waited(AsyncClient.pause)
    resume = _waited(AsyncClient.resume)
    rename = _waited(AsyncClient.rename)
    rerun = _waited(AsyncClient.rerun)
    cancel = _waited(AsyncClient.cancel)
    retry_failed = _waited(AsyncClient.retry_failed)
    delete = _waited(AsyncClient.delete)
    live = _listed(AsyncClient.live)
    wait = _waited(AsyncClient.wait)
    export = _waited(AsyncClient.export)
    exports = _waited(AsyncClient.exports)
    export_status = _waited(AsyncClient.export_status)
    cancel_exports = _waited(AsyncClient.cancel_exports)
    wait_for_export = _waited(AsyncClient.wait_for_export)
    download = _waited(AsyncClient.download)
    read = _listed(AsyncClient.read)
    webhooks = _waited(AsyncClient.webhooks)
    webhook = _waited(AsyncClient.webhook)
    add_webhook = _waited(AsyncClient.add_webhook)
    change_webhook = _waited(AsyncClient.change_webhook)
    rotate_webhook = _waited(AsyncClient.rotate_webhook)
    remove_webhook = _waited(AsyncClient.remove_webhook)
    test_webhook = _waited(AsyncClient.test_webhook)
    deliveries = _listed(AsyncClient.deliveries)
    delivery = _waited(AsyncClient.delivery)
    replay = _waited(AsyncClient.replay)
    replay_failed = _waited(AsyncClient.replay_failed)
    account = _waited(AsyncClient.account)
    usage = _waited(AsyncClient.usage)
    requests = _listed(AsyncClient.requests)
    keys = _waited(AsyncClient.keys)
    create_key = _waited(AsyncClient.create_key)
    revoke_key = _waited(AsyncClient.revoke_key)
    forget = _waited(AsyncClient.forget)
    recipes = _waited(AsyncClient.recipes)
    health = _waited(AsyncClient.health)
