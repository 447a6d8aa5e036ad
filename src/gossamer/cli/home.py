"""Where a command looks and acts: the home on this machine, or one behind a server. What it says is the same."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar
from uuid import UUID

if TYPE_CHECKING:
    # What each command needs of these it loads itself.
    from gossamer.cli.screen import Screen
    from gossamer.cli.traces import Traces
    from gossamer.export.make import Order
    from gossamer.intake.control import Retried
    from gossamer.intake.estimate import Forecast
    from gossamer.intake.submit import Submitted
    from gossamer.model.job import Job, JobRequest, Target
    from gossamer.model.money import Cap
    from gossamer.model.webhook import Delivery
    from gossamer.questions.submitting import Walk
    from gossamer.questions.view import View

P = ParamSpec("P")
T = TypeVar("T")


class Home(Protocol):
    """`cli/here.py` and `cli/there.py` are the two there are."""

    @property
    def pace(self) -> float:
        """Seconds between two looks at something that goes on."""
        ...

    @property
    def is_here(self) -> bool:
        """Whether it is on this machine."""
        ...

    async def ask(
        self, question: "Callable[Concatenate[View, P], Awaitable[T]]", /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """What the rows say."""
        ...

    def reach(self, link: str | None) -> str | None:
        """A link as it can be followed from here."""
        ...

    # Jobs.

    def check(self) -> None:
        """Refuse, before anything is created, what only a worker would stumble over."""
        ...

    async def foresee(
        self, walk: "Walk", targets: "Sequence[Target]", probe: int | None, *, quiet: bool
    ) -> "Forecast | None":
        """What a job will cost, after a look at some homepages if that is wanted; None if it can cost nothing."""
        ...

    async def submit(self, request: "JobRequest") -> "Submitted": ...

    async def start(self, job: "Job") -> None: ...

    async def resume(self, job: "Job", cap: "Cap") -> None: ...

    async def pause(self, job: "Job") -> None: ...

    async def cancel(self, job: "Job") -> None: ...

    async def rename(self, job: "Job", name: str) -> None: ...

    async def retry_failed(self, job: "Job") -> "Retried": ...

    async def follow(self, job_id: UUID, screen: "Screen", processes: int | None) -> "Job":
        """Show a job until it is over, paused or left; and work it, where nobody else does."""
        ...

    async def let_work(self, processes: int | None) -> None:
        """See that somebody works the jobs when this command has returned."""
        ...

    async def let_rest(self) -> bool:
        """Where nobody works, there is nothing in flight to wait for: whether that is so, and jobs rest now."""
        ...

    # Their files.

    async def order_files(self, job: "Job", orders: "Sequence[Order]") -> list[UUID]: ...

    def let_files_be_made(self) -> None:
        """See that somebody makes them when this command has returned."""
        ...

    async def wait_for_files(self, job: "Job", ids: Sequence[UUID]) -> None: ...

    async def cancel_files(self, job: "Job") -> int: ...

    def write(self, order: "Order", told: Callable[[int], None]) -> AsyncIterator[bytes]:
        """The bytes of a file; `told` hears how many rows it has."""
        ...

    # Messages.

    async def send(self, message: "Delivery") -> bool:
        """Try one now, if that is up to us and nobody else is at it: whether it was tried."""
        ...

    # What is to be no more.

    async def delete(self, job: "Job") -> tuple[int, int]:
        """How many rows were deleted, and how many files are left for later."""
        ...

    async def traces(self, url: str | None, domain: str | None, job: str | None) -> "Traces": ...
