"""The data folder a command works with: on this machine or behind a server. The output is the same."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar
from uuid import UUID

if TYPE_CHECKING:
    # Imports for types only: commands load what they need.
    from gossamer.billing.estimating import Forecast
    from gossamer.cli.screen import Screen
    from gossamer.cli.traces import Traces
    from gossamer.exports.make import Order
    from gossamer.intake.control import Retried
    from gossamer.intake.submit import Submitted
    from gossamer.model.job import Job, JobRequest, Target
    from gossamer.model.money import Cap
    from gossamer.model.webhook import Delivery
    from gossamer.questions.submitting import Walk
    from gossamer.questions.view import View

P = ParamSpec("P")
T = TypeVar("T")


class Home(Protocol):
    """Implemented by `cli/here.py` and `cli/there.py`."""

    @property
    def pace(self) -> float:
        """Seconds between two reads of the progress."""
        ...

    @property
    def is_here(self) -> bool:
        """True for the data folder on this machine."""
        ...

    async def ask(
        self, question: "Callable[Concatenate[View, P], Awaitable[T]]", /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Answer a question about jobs from the database."""
        ...

    def reach(self, link: str | None) -> str | None:
        """A link in the form in which this machine can open it."""
        ...

    # Jobs.

    def check(self) -> None:
        """Refuse settings that a worker would refuse, before a job is created."""
        ...

    async def foresee(
        self, walk: "Walk", targets: "Sequence[Target]", probe: int | None, *, quiet: bool
    ) -> "Forecast | None":
        """Estimate the cost of a job, after fetching some homepages if asked to; None if it can cost nothing."""
        ...

    async def submit(self, request: "JobRequest") -> "Submitted": ...

    async def start(self, job: "Job") -> None: ...

    async def resume(self, job: "Job", cap: "Cap") -> None: ...

    async def pause(self, job: "Job") -> None: ...

    async def cancel(self, job: "Job") -> None: ...

    async def rename(self, job: "Job", name: str) -> None: ...

    async def retry_failed(self, job: "Job") -> "Retried": ...

    async def follow(self, job_id: UUID, screen: "Screen", processes: int | None) -> "Job":
        """Show a job until it is over, paused or left, and run it if no other process does."""
        ...

    async def let_work(self, processes: int | None) -> None:
        """Make sure that a process runs the jobs after this command has returned."""
        ...

    async def let_rest(self) -> bool:
        """If no worker is running, move pausing jobs to paused. Returns True if it did."""
        ...

    # Their files.

    async def order_files(self, job: "Job", orders: "Sequence[Order]") -> list[UUID]: ...

    def let_files_be_made(self) -> None:
        """Make sure that files are made after this command has returned."""
        ...

    async def wait_for_files(self, job: "Job", ids: Sequence[UUID]) -> None: ...

    async def cancel_files(self, job: "Job") -> int: ...

    def write(self, order: "Order", on_progress: Callable[[int], None]) -> AsyncIterator[bytes]:
        """Yield the bytes of a file; `on_progress` is called with the number of rows."""
        ...

    # Messages.

    async def send(self, message: "Delivery") -> bool:
        """Try to send a message now; False if that is left to the server or another sender."""
        ...

    # Removal.

    async def delete(self, job: "Job") -> tuple[int, int]:
        """Delete a job's results. Returns the number of deleted rows and of files that remain for later."""
        ...

    async def traces(self, url: str | None, domain: str | None, job: str | None) -> "Traces": ...
