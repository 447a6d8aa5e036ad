"""The data folder behind a server: questions are sent as JSON, actions go to the API."""

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from inspect import signature
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar, get_type_hints
from uuid import UUID

from gossamer import __version__
from gossamer.billing.estimating import Forecast
from gossamer.cli import formatting
from gossamer.cli.group import lazy_module
from gossamer.cli.login import command_error, open_client
from gossamer.cli.screen import Screen
from gossamer.cli.servers import ServerLogin, print_server
from gossamer.client import AsyncClient, ClientError, ServerError, TooManyRequests, Unreachable
from gossamer.client.answers import Export
from gossamer.errors import GossamerError, UserError
from gossamer.exports.make import Order
from gossamer.intake.control import Retried
from gossamer.intake.submit import Submitted
from gossamer.model.job import Job, JobRequest, Target
from gossamer.model.money import MEGABYTE, MICROS, Cap
from gossamer.model.rungs import Mode
from gossamer.model.states import OVER, JobState
from gossamer.model.webhook import Delivery
from gossamer.questions import jobs
from gossamer.questions.jobs import Standing, standing
from gossamer.questions.submitting import Walk, foreseen
from gossamer.questions.view import View
from gossamer.questions.wire import Unreadable, pack, unpack
from gossamer.settings import Settings

if TYPE_CHECKING:
    from gossamer.cli import probing, traces
    from gossamer.cli.traces import Traces
else:
    # Only few commands need one of these.
    probing = lazy_module("gossamer.cli.probing")
    traces = lazy_module("gossamer.cli.traces")

P = ParamSpec("P")
T = TypeVar("T")


@asynccontextmanager
async def open_home(login: ServerLogin, settings: Settings) -> AsyncIterator["RemoteHome"]:
    """Open the data folder behind a server. Errors of the client are raised as commands print them."""
    print_server(login)
    async with open_client(login, settings) as client:
        try:
            yield RemoteHome(client)
        except ClientError as error:
            raise command_error(error, login) from error


class RemoteHome:
    pace = 1.0  # a key is limited to some hundred requests a minute, and several people may watch with it
    is_here = False

    def __init__(self, client: AsyncClient) -> None:
        self.client = client

    async def ask(
        self, question: Callable[Concatenate[View, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        # The server adds the view.
        given = signature(question).bind(None, *args, **kwargs).arguments
        _, *named = given.items()
        said = await self.client.ask(question.__name__, {name: pack(value) for name, value in named})
        try:
            answer: T = unpack(get_type_hints(question, include_extras=True)["return"], said)
        except Unreadable as error:
            theirs = (await self.client.health()).version
            raise UserError(
                "remote.version",
                f"{self.client.url} has gossamer {theirs}, and this is {__version__}: they do not match.",
                hint="Use the same version as the server.",
            ) from error
        return answer

    def reach(self, link: str | None) -> str | None:
        return f"{self.client.url}{link}" if link and link.startswith("/") else link

    def check(self) -> None:
        """Nothing to check: settings of workers are the server's."""

    async def foresee(
        self, walk: Walk, targets: Sequence[Target], probe: int | None, *, quiet: bool
    ) -> Forecast | None:
        probed = None
        if probe:
            probed = await probing.probe_there(self, walk, targets, probe, quiet=quiet)
        return await self.ask(foreseen, walk, [target.given for target in targets], probed)

    async def submit(self, request: JobRequest) -> Submitted:
        # An address with several spellings is sent as given: the server works out the others.
        urls = [
            target.given if len(target.entries) > 1 else page for target in request.targets for page in target.pages
        ]
        made = await self.client.submit(
            request.recipe,
            request.name,
            # Explicit, because the server's default may use a paid provider.
            params={"mode": Mode.FREE_ONLY, **pack(request.params)},
            domains=() if urls else [target.given for target in request.targets],
            urls=urls,
            priority=str(request.priority),
            max_concurrency=request.max_concurrency,
            limits=_limits(request.cap),
            start=request.start,
            idempotency_key=request.submit_key or None,
        )
        return Submitted(await self.ask(jobs.find, made.id), is_new=not made.replayed)

    async def start(self, job: Job) -> None:
        await self.client.resume(job.id)

    async def resume(self, job: Job, cap: Cap) -> None:
        await self.client.resume(job.id, limits=_limits(cap))

    async def pause(self, job: Job) -> None:
        await self.client.pause(job.id)

    async def rename(self, job: Job, name: str) -> None:
        await self.client.rename(job.id, name)

    async def cancel(self, job: Job) -> None:
        await self.client.cancel(job.id)

    async def retry_failed(self, job: Job) -> Retried:
        done = await self.client.retry_failed(job.id)
        return Retried(done.sites, done.pages)

    async def follow(self, job_id: UUID, screen: Screen, processes: int | None) -> Job:
        return await RemoteFollower(self, job_id, screen).follow()

    async def let_work(self, processes: int | None) -> None:
        """Nothing to do: the server runs jobs."""

    async def let_rest(self) -> bool:
        return False

    async def order_files(self, job: Job, orders: Sequence[Order]) -> list[UUID]:
        return [UUID(one.id) for one in await self._order(job, orders)]

    async def _order(self, job: Job, orders: Sequence[Order]) -> list[Export]:
        first = orders[0]  # the orders differ only in format
        return await self.client.export(
            job.id,
            type=first.table.name,
            format=",".join(order.form.name for order in orders),
            columns=first.columns,
            filter=first.only,
            bom=first.looks.bom,
            raw=first.looks.raw,
            costs=first.looks.costs,
            title=first.looks.title,
            client=first.looks.client,
            since_job=first.since.id if first.since else None,
            exclude_domains=sorted(first.excluded),
        )

    def let_files_be_made(self) -> None:
        """Nothing to do: the server makes files."""

    async def wait_for_files(self, job: Job, ids: Sequence[UUID]) -> None:
        for one in ids:
            await self.client.wait_for_export(job.id, str(one))

    async def cancel_files(self, job: Job) -> int:
        was_open = {one.id for one in await self.client.exports(job.id) if one.is_open}
        now = await self.client.cancel_exports(job.id)
        return sum(one.id in was_open and one.state == "cancelled" for one in now)

    async def write(self, order: Order, on_progress: Callable[[int], None]) -> AsyncIterator[bytes]:
        """Have the server make the file, and download it."""
        (ordered,) = await self._order(order.job, [order])
        made = await self.client.wait_for_export(order.job.id, ordered.id)
        if made.state != "done":
            raise GossamerError(f"{made.name} could not be made: {made.reason or made.state}.")
        on_progress(made.rows)
        async for piece in self.client.read(made):
            yield piece

    async def send(self, message: Delivery) -> bool:
        return False

    async def delete(self, job: Job) -> tuple[int, int]:
        return (await self.client.delete(job.id)).rows, 0

    async def traces(self, url: str | None, domain: str | None, job: str | None) -> "Traces":
        job_id = (await self.ask(jobs.find, job)).id if job else None
        found = await self.client.forget(url=url, domain=domain, job=job_id, dry_run=True)
        return traces.RemoteTraces(self.client, url, domain, job_id, found)


def _limits(cap: Cap) -> dict[str, int | float]:
    """Limits in the units of the API; those not given are left out and stay as they are."""
    named = {
        "max_credits": cap.credits,
        "max_usd": None if cap.micros is None else cap.micros / MICROS,
        "max_mb": None if cap.traffic is None else cap.traffic // MEGABYTE,
        "max_residential_mb": None if cap.bytes is None else cap.bytes // MEGABYTE,
    }
    return {name: value for name, value in named.items() if value is not None}


_PATIENCE = 600.0  # seconds for which a server that does not answer is waited for


class RemoteFollower:
    """Show a job that a server runs. The first Ctrl-C pauses it, the second one leaves."""

    def __init__(self, home: "RemoteHome", job_id: UUID, screen: Screen) -> None:
        self._home = home
        self._job_id = job_id
        self._screen = screen
        self._interrupts = 0
        self._left = asyncio.Event()
        self._shown: Standing | None = None

    async def follow(self) -> Job:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        for name in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(name, self._left.set)
        try:
            with self._screen:
                return await self._watch()
        finally:
            for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(name)

    def _interrupt(self) -> None:
        self._interrupts += 1
        if self._interrupts > 1:
            self._left.set()

    async def _watch(self) -> Job:
        asked = False
        while True:
            now = await self._look()
            self._screen.show(now.job, now.progress, self._note(now))
            wants_pause = self._interrupts > 0 and not asked  # also if both Ctrl-C came between two looks
            if now.job.state in OVER or now.job.state is JobState.PAUSED or (self._left.is_set() and not wants_pause):
                return now.job
            if wants_pause:
                asked = True
                with suppress(ClientError):  # it has just ended or been paused: the next look shows it
                    await self._home.pause(now.job)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._home.pace):
                    await self._left.wait()

    async def _look(self) -> Standing:
        """Return the present state. Waits for a server that does not respond, since the job continues there."""
        loop = asyncio.get_running_loop()
        until = loop.time() + _PATIENCE
        while True:
            try:
                self._shown = await self._home.ask(standing, str(self._job_id))
            except (Unreachable, ServerError, TooManyRequests) as error:
                if self._shown is None or self._interrupts or self._left.is_set() or loop.time() > until:
                    raise GossamerError(
                        f"{error} The job continues there, at the latest when the server is back: look again with "
                        "'gossamer job list'."
                    ) from error
                note = "The server does not answer: waiting. The job goes on when it is back or before; Ctrl-C leaves."
                self._screen.show(self._shown.job, self._shown.progress, note)
                await asyncio.sleep(self._home.pace)
            else:
                return self._shown

    def _note(self, now: Standing) -> str:
        if now.job.state is JobState.PAUSING:
            note = f"{now.job.reason} Pausing... {formatting.work_in_progress(now.busy, now.paid)}. ".lstrip()
            return note + "Ctrl-C leaves; nothing is lost either way."
        if now.job.state is JobState.PENDING:
            return now.job.reason or "It waits for another job of the account to end."
        idle = "No process runs the jobs of this server at the moment." if now.runner is None else ""
        return now.job.reason or idle or f"Running on {self._home.client.url}."
