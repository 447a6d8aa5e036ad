"""The data folder on this machine: commands read its database, and one that starts a job may also run it."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar
from uuid import UUID

from gossamer.app import App, log_path
from gossamer.cli.group import lazy_module
from gossamer.intake import control
from gossamer.intake.control import Retried
from gossamer.model.job import Job, JobRequest, Target
from gossamer.model.money import Cap
from gossamer.questions.view import View
from gossamer.store import exports

if TYPE_CHECKING:
    from gossamer.billing import estimating
    from gossamer.billing.estimating import Forecast
    from gossamer.cli import follow, probing, traces
    from gossamer.cli.screen import Screen
    from gossamer.cli.traces import Traces
    from gossamer.exports import make, orders
    from gossamer.exports.make import Order
    from gossamer.intake import submit
    from gossamer.intake.submit import Submitted
    from gossamer.model.webhook import Delivery
    from gossamer.questions.submitting import Walk
    from gossamer.retention import service
else:
    # Only few commands need one of these.
    orders = lazy_module("gossamer.exports.orders")
    service = lazy_module("gossamer.retention.service")
    estimating = lazy_module("gossamer.billing.estimating")
    follow = lazy_module("gossamer.cli.follow")
    make = lazy_module("gossamer.exports.make")
    probing = lazy_module("gossamer.cli.probing")
    submit = lazy_module("gossamer.intake.submit")
    traces = lazy_module("gossamer.cli.traces")

_LOOK = 0.2  # seconds between two reads of the rows
P = ParamSpec("P")
T = TypeVar("T")


class LocalHome:
    pace = 0.25
    is_here = True

    def __init__(self, app: App) -> None:
        self.app = app
        self._database = app.database
        self._view = View(app)

    async def ask(
        self, question: Callable[Concatenate[View, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await question(self._view, *args, **kwargs)

    def reach(self, link: str | None) -> str | None:
        return link

    def check(self) -> None:
        self.app.check()

    async def foresee(
        self, walk: "Walk", targets: Sequence[Target], probe: int | None, *, quiet: bool
    ) -> "Forecast | None":
        asked = walk.asked(targets, self.app.prices)
        if not asked.costs_something:
            return None
        probed = None
        if probe:
            probed = await probing.probe_here(self.app, asked, probe, quiet=quiet)
        return await estimating.forecast(self._database, asked, probed)

    async def submit(self, request: JobRequest) -> "Submitted":
        return await submit.submit_once(self._database, self.app.recipes, request)

    async def start(self, job: Job) -> None:
        await control.start(self._database, job)

    async def resume(self, job: Job, cap: Cap) -> None:
        await control.resume(self._database, job, cap)

    async def pause(self, job: Job) -> None:
        await control.pause(self._database, job)

    async def rename(self, job: Job, name: str) -> None:
        await control.rename(self._database, job, name)

    async def cancel(self, job: Job) -> None:
        await control.cancel(self._database, job)

    async def retry_failed(self, job: Job) -> Retried:
        return await control.retry_failed(self._database, job)

    async def follow(self, job_id: UUID, screen: "Screen", processes: int | None) -> Job:
        return await follow.Follower(self.app, job_id, screen, processes).follow()

    async def let_work(self, processes: int | None) -> None:
        """Start a runner in the background, which waits for a present one; none if a cluster runs the jobs."""
        if not await follow.worked_by_cluster(self.app):
            start_worker(self.app, "--runner", *(("--processes", str(processes)) if processes else ()))

    async def let_rest(self) -> bool:
        if await self._view.runner() is not None or not self.app.lock.take():
            return False
        await control.settle_down(self._database, self.app.home_name)
        self.app.lock.release()
        return True

    async def order_files(self, job: Job, wanted: "Sequence[Order]") -> list[UUID]:
        requests = [orders.request_of(order) for order in wanted]
        return [
            one.id for one in await self._database.write(exports.add, job.id, requests, self.app.export_store().owner)
        ]

    def let_files_be_made(self) -> None:
        """Leave it to the runner of this data folder, or start a process that ends after the last file."""
        if self.app.lock.holder() is None:
            start_worker(self.app, "--exports")

    async def wait_for_files(self, job: Job, ids: Sequence[UUID]) -> None:
        """Make the files in this process; wait for those another process has started."""
        async with self.app.exporter("wait") as exporter:
            while True:
                rows = [await self._database.read(exports.get, one) for one in ids]
                if not any(row and row.is_open for row in rows):
                    return
                if await exporter.make_next(ids) is None:
                    await exporter.take_back()
                    await asyncio.sleep(_LOOK)

    async def cancel_files(self, job: Job) -> int:
        return await self._database.write(exports.cancel, job.id)

    async def write(self, order: "Order", on_progress: Callable[[int], None]) -> AsyncIterator[bytes]:
        total = await make.expected(self._database, order)
        async for chunk in make.make_file(
            self._database, order, on_progress, lines_expected=total, prices=self.app.prices
        ):
            yield chunk

    async def send(self, message: "Delivery") -> bool:
        async with self.app.sender("command") as sender:
            return bool(await sender.send_to(message.endpoint_id, message.id))

    async def delete(self, job: Job) -> tuple[int, int]:
        service.refuse_at_work(job, "it cannot be deleted")
        rows = await service.delete_job(self._database, job)
        return rows, await traces.remove_files(self.app, job)

    async def traces(self, url: str | None, domain: str | None, job: str | None) -> "Traces":
        return await traces.find_traces(self.app, url, domain, job)


def start_worker(app: App, *arguments: str) -> None:
    """Start a process in its own session, so that it survives this terminal. Its output goes to the log."""
    with log_path(app.settings).open("ab") as sink:
        subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-P", "-m", "gossamer.worker", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
            env={**os.environ, "GOSSAMER_HOME": str(app.settings.home)},
        )
