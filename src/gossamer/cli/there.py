"""A home behind a server: the same questions go to it as JSON, and what is to be done is done by its own endpoints."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from inspect import signature
from typing import Concatenate, ParamSpec, TypeVar, get_type_hints
from uuid import UUID

from gossamer import __version__
from gossamer.cli.home import Trace
from gossamer.cli.screen import Screen
from gossamer.client import AsyncClient
from gossamer.client.answers import Export, Forgotten
from gossamer.errors import GossamerError, UserError
from gossamer.export.make import Order
from gossamer.intake.control import Retried
from gossamer.intake.estimate import Forecast
from gossamer.intake.submit import Submitted
from gossamer.model.job import Job, JobRequest, Target
from gossamer.model.ladders import Mode
from gossamer.model.money import MEGABYTE, MICROS, Cap
from gossamer.model.webhook import Delivery
from gossamer.questions import jobs
from gossamer.questions.submitting import Walk, foreseen
from gossamer.questions.view import View
from gossamer.questions.wire import Unreadable, pack, unpack

P = ParamSpec("P")
T = TypeVar("T")


class RemoteHome:
    pace = 1.0  # a key may ask some hundred times a minute, and several may watch with it
    is_here = False

    def __init__(self, client: AsyncClient) -> None:
        self.client = client

    async def ask(
        self, question: Callable[Concatenate[View, P], Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        # The view stands on the other side.
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
        """What workers need is a matter of the server."""

    async def foresee(
        self, walk: Walk, targets: Sequence[Target], probe: int | None, *, quiet: bool
    ) -> Forecast | None:
        probed = None
        if probe:
            from gossamer.cli.probing_there import look_first

            probed = await look_first(self, walk, targets, probe, quiet=quiet)
        return await self.ask(foreseen, walk, [target.given for target in targets], probed)

    async def submit(self, request: JobRequest) -> Submitted:
        # One that may turn out to be another spelling goes as it was written: the server knows the others.
        urls = [
            target.given if len(target.entries) > 1 else page for target in request.targets for page in target.pages
        ]
        made = await self.client.submit(
            request.recipe,
            request.name,
            # Said aloud: a server that is told nothing asks a provider where it has one.
            params={"mode": Mode.FREE_ONLY, **pack(request.params)},
            domains=() if urls else [target.given for target in request.targets],
            urls=urls,
            priority=str(request.priority),
            max_concurrency=request.at_once,
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
        from gossamer.cli.follow_there import RemoteFollower

        return await RemoteFollower(self, job_id, screen).follow()

    async def let_work(self, processes: int | None) -> None:
        """The server does."""

    async def let_rest(self) -> bool:
        return False

    async def order_files(self, job: Job, orders: Sequence[Order]) -> list[UUID]:
        return [UUID(one.id) for one in await self._order(job, orders)]

    async def _order(self, job: Job, orders: Sequence[Order]) -> list[Export]:
        first = orders[0]  # they differ by their format only
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
        """The server does."""

    async def wait_for_files(self, job: Job, ids: Sequence[UUID]) -> None:
        for one in ids:
            await self.client.wait_for_export(job.id, str(one))

    async def cancel_files(self, job: Job) -> int:
        was_open = {one.id for one in await self.client.exports(job.id) if one.is_open}
        now = await self.client.cancel_exports(job.id)
        return sum(one.id in was_open and one.state == "cancelled" for one in now)

    async def write(self, order: Order, told: Callable[[int], None]) -> AsyncIterator[bytes]:
        """Have the file made there, and fetch it."""
        (ordered,) = await self._order(order.job, [order])
        made = await self.client.wait_for_export(order.job.id, ordered.id)
        if made.state != "done":
            raise GossamerError(f"{made.name} could not be made: {made.reason or made.state}.")
        told(made.rows)
        async for piece in self.client.read(made):
            yield piece

    async def send(self, message: Delivery) -> bool:
        return False

    async def delete(self, job: Job) -> tuple[int, int]:
        return (await self.client.delete(job.id)).rows, 0

    async def traces(self, url: str | None, domain: str | None, job: str | None) -> "RemoteTraces":
        job_id = (await self.ask(jobs.find, job)).id if job else None
        found = await self.client.forget(url=url, domain=domain, job=job_id, dry_run=True)
        return RemoteTraces(self.client, url, domain, job_id, found)


class RemoteTraces:
    def __init__(
        self, client: AsyncClient, url: str | None, domain: str | None, job: UUID | None, found: Forgotten
    ) -> None:
        self._client, self._url, self._domain, self._job = client, url, domain, job
        self.found = [Trace(UUID(one.job_id), one.name, one.pages, one.records, one.mentions) for one in found.jobs]

    async def refuse_at_work(self) -> None:
        """The server refuses it, before anything is removed."""

    async def remove(self) -> tuple[bool, int]:
        done = await self._client.forget(url=self._url, domain=self._domain, job=self._job)
        return done.forgotten, 0


def _limits(cap: Cap) -> dict[str, int | float]:
    """As the server takes them; those that are not named are left as they are."""
    named = {
        "max_credits": cap.credits,
        "max_usd": None if cap.micros is None else cap.micros / MICROS,
        "max_mb": None if cap.traffic is None else cap.traffic // MEGABYTE,
        "max_residential_mb": None if cap.bytes is None else cap.bytes // MEGABYTE,
    }
    return {name: value for name, value in named.items() if value is not None}
