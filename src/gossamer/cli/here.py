"""The home on this machine: the database is at hand, and whoever runs a job may have to work it.

What single commands need is loaded when they come to it: commands stay quick.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar
from uuid import UUID

from gossamer.assembly import App
from gossamer.intake import control
from gossamer.intake.control import Retried
from gossamer.model.job import Job, JobRequest, Target
from gossamer.model.money import Cap
from gossamer.questions.view import View
from gossamer.store import exports

if TYPE_CHECKING:
    from gossamer.cli.home import Traces
    from gossamer.cli.screen import Screen
    from gossamer.export.make import Order
    from gossamer.intake.estimate import Forecast
    from gossamer.intake.submit import Submitted
    from gossamer.model.webhook import Delivery
    from gossamer.questions.submitting import Walk

_LOOK = 0.2  # seconds between looks at the rows

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
            # What makes requests is loaded only where some are made.
            from gossamer.cli.probing import look_first

            probed = await look_first(self.app, asked, probe, quiet=quiet)
        from gossamer.intake.estimate import forecast

        return await forecast(self._database, asked, probed)

    async def submit(self, request: JobRequest) -> "Submitted":
        from gossamer.intake.submit import submit_once

        return await submit_once(self._database, self.app.recipes, request)

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
        from gossamer.cli.follow import Follower

        return await Follower(self.app, job_id, screen, processes).follow()

    async def let_work(self, processes: int | None) -> None:
        """A runner that waits its turn if the home has one; none where a cluster works."""
        from gossamer.cli.follow import worked_by_cluster

        if not await worked_by_cluster(self.app):
            from gossamer.cli.background import start_worker

            start_worker(self.app, "--runner", *(("--processes", str(processes)) if processes else ()))

    async def let_rest(self) -> bool:
        if await self._view.runner() is not None or not self.app.lock.take():
            return False
        await control.settle_down(self._database, self.app.home_name)
        self.app.lock.release()
        return True

    async def order_files(self, job: Job, orders: "Sequence[Order]") -> list[UUID]:
        from gossamer.export.asking import request_of

        wanted = [request_of(order) for order in orders]
        return [one.id for one in await self._database.write(exports.add, job.id, wanted, self.app.shelf().owner)]

    def let_files_be_made(self) -> None:
        """By the runner of this home, if there is one; else by a process of its own that ends with the last file."""
        if self.app.lock.holder() is None:
            from gossamer.cli.background import start_worker

            start_worker(self.app, "--exports")

    async def wait_for_files(self, job: Job, ids: Sequence[UUID]) -> None:
        """Make them ourselves; what somebody else has taken up already is waited for."""
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

    async def write(self, order: "Order", told: Callable[[int], None]) -> AsyncIterator[bytes]:
        from gossamer.export.make import expected, make_file

        total = await expected(self._database, order)
        async for chunk in make_file(self._database, order, told, lines_expected=total, prices=self.app.prices):
            yield chunk

    async def send(self, message: "Delivery") -> bool:
        async with self.app.sender("command") as sender:
            return bool(await sender.send_to(message.endpoint_id, message.id))

    async def delete(self, job: Job) -> tuple[int, int]:
        from gossamer.cli.traces_here import remove_files
        from gossamer.retain.delete import delete_job, refuse_at_work

        refuse_at_work(job, "it cannot be deleted")
        rows = await delete_job(self._database, job)
        return rows, await remove_files(self.app, job)

    async def traces(self, url: str | None, domain: str | None, job: str | None) -> "Traces":
        from gossamer.cli.traces_here import find_traces

        return await find_traces(self.app, url, domain, job)
