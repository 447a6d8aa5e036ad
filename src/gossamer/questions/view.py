"""Access control of questions: local users see everything, users of a server only their account's data.

A question reads rows in one of three ways only, each limited to an owner: through a job of the caller
(`job`, which returns an account-scoped database), by the caller's account (`of_owner`), and as the
operator, who may see everything.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, TypeVar

from pydantic import Field, ValidationError

from gossamer.accounts import queries as account_queries
from gossamer.app import App
from gossamer.billing.prices import PriceList
from gossamer.clock import SteadyClock
from gossamer.db.database import Database
from gossamer.db.health import working_home
from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.intake.control import find_job
from gossamer.model.account import DEFAULT, ApiKey, Right
from gossamer.model.fields import sentence_of
from gossamer.model.ids import short
from gossamer.model.job import CrawlPolicy, Job, Progress
from gossamer.model.money import Cap, Scope
from gossamer.model.states import OVER, JobState
from gossamer.recipes.base import Recipe
from gossamer.retention import queries as retention_queries
from gossamer.retention.service import NextStep, PlannedStep, Terms, look_ahead
from gossamer.settings import Settings
from gossamer.store.accounts import AccountScopedDatabase

if TYPE_CHECKING:
    from gossamer.billing.estimating import EstimateInputs, Forecast
    from gossamer.blobs.export_store import ExportStore
    from gossamer.blobs.page_files import PageFiles
    from gossamer.model.job import Probed, Target


Few = Annotated[int, Field(ge=1, le=10_000)]
Many = Annotated[int, Field(ge=1, le=50_000)]
Place = Annotated[int, Field(ge=1, le=1_000_000)]  # the number of a page
Text = Annotated[
    str, Field(max_length=2_000, pattern=r"^[^\x00]*$")
]  # without the zero character, which databases refuse

T = TypeVar("T")


_HINT = "Use the program that created it. 'gossamer job status', 'pages', 'history' and 'audit' work here too."


@dataclass(frozen=True, slots=True)
class Asker:
    """The caller of a question sent through a server."""

    account: str
    right: Right

    @property
    def is_operator(self) -> bool:
        """True for the operator of the server: the first account with a key that has all rights."""
        return self.account == DEFAULT and self.right.includes(Right.ADMIN)


class View:
    def __init__(self, app: App, asker: Asker | None = None) -> None:
        """`asker` is None for a user with direct access to the database, who may see everything."""
        self._app = app
        self._asker = asker

    @property
    def is_remote(self) -> bool:
        return self._asker is not None

    @property
    def account(self) -> str | None:
        """The account whose jobs are visible; None: all accounts."""
        return self._asker.account if self._asker else None

    @property
    def is_guest(self) -> bool:
        """True if the caller must not see which machines do the work."""
        return self._asker is not None and not self._asker.is_operator

    async def job(self, text: str) -> tuple[Job, Database]:
        """Return the job named by a user's text, and the database in which it can be read."""
        database = self._app.database
        if self._asker is None:
            return await find_job(database, text), database
        job = await find_job(database, text, self._asker.account)
        return job, AccountScopedDatabase(database, self._asker.account, job.id)

    async def of_owner(self, work: Callable[[Tx, str | None], T]) -> T:
        """Run `work` on the jobs of the caller's account, or of all accounts.

        `work` receives the account, or None for all.
        """
        return await self._app.database.read(work, self._asker.account if self._asker else None)

    def admin(self, account: str | None) -> tuple[str, Database]:
        """Return an account whose keys the caller may manage, by default their own, and its database."""
        asker = self._asker
        meant = account or (asker.account if asker else DEFAULT)
        if asker and meant != asker.account:
            self.house()
        if asker and not asker.right.includes(Right.ADMIN):
            raise missing_right(asker.right, Right.ADMIN)
        return meant, self._app.database

    def own(self, right: Right) -> tuple[str, Database]:
        """Return the caller's account and its database, if the key has this right."""
        asker = self._asker
        if asker and not asker.right.includes(right):
            raise missing_right(asker.right, right)
        return asker.account if asker else DEFAULT, self._app.database

    async def keys(self, digits: str) -> list[ApiKey]:
        """Return the keys whose id begins with `digits`, of the accounts whose keys the caller may manage."""
        asker = self._asker
        whose = None if asker is None or asker.is_operator else asker.account
        return await self._app.database.read(account_queries.keys_matching, digits, whose)

    async def forecast(self, asked: "EstimateInputs", probed: "Probed | None" = None) -> "Forecast":
        """Forecast the cost of a job, based on the caller's own jobs."""
        # 45 more modules, which only estimates need: every command imports this module.
        from gossamer.billing.estimating import forecast

        return await forecast(self._app.database, self._asked(asked), probed)

    async def not_known(self, asked: "EstimateInputs") -> "list[Target]":
        """Return the sites that are not part of the caller's own jobs."""
        # 45 more modules, which only estimates need: every command imports this module.
        from gossamer.billing.estimating import not_known

        return await not_known(self._app.database, self._asked(asked))

    def _asked(self, asked: "EstimateInputs") -> "EstimateInputs":
        return replace(asked, account=self._asker.account if self._asker else None)

    def house(self) -> App:
        """Return the whole application, for the operator; refuse other callers."""
        if self._asker and not self._asker.is_operator:
            raise UserError(
                "auth.operator",
                "This is about the whole server, and not only about your account.",
                hint="Ask its operator: it takes an admin key of the account 'default'.",
            )
        return self._app

    async def runner(self) -> int | None:
        """Return the process id of the local worker, 0 if the worker is elsewhere; None if none is running."""
        holder = self._app.lock.holder()
        if holder is None:
            # An entry of our own data folder was left behind by a runner that is gone.
            home = await self._app.database.read(working_home)
            return 0 if home and home != self._app.home_name else None
        return 0 if self._asker else holder

    # Settings and services that do not depend on the caller.

    @property
    def now(self) -> datetime:
        return self._app.clock.now()

    @property
    def clock(self) -> SteadyClock:
        return self._app.clock

    @property
    def settings(self) -> Settings:
        return self._app.settings

    @property
    def recipes(self) -> Mapping[str, Recipe]:
        return self._app.recipes

    @property
    def rungs(self) -> tuple[str, ...]:
        return self._app.rungs

    @property
    def prices(self) -> PriceList:
        return self._app.prices

    @property
    def caps(self) -> Mapping[Scope, Cap]:
        return self._app.caps

    @property
    def terms(self) -> Terms:
        return self._app.terms

    async def ahead(self, database: Database, job: Job, progress: Progress) -> Progress:
        """Return the progress of a job with an estimate of the remaining pages."""
        return await self._app.remaining_work.add(database, job, progress)

    def export_store(self) -> "ExportStore":
        return self._app.export_store()

    def page_files(self) -> "PageFiles":
        return self._app.page_files()


def missing_right(right: Right, needed: Right) -> UserError:
    """Return the error of a key whose right is too low."""
    return UserError(
        "auth.forbidden",
        f"This key may {right}, and this takes one that may {needed}.",
        hint="Use another key, or ask for one with that scope.",
    )


def recipe_of(recipes: Mapping[str, Recipe], job: Job) -> Recipe:
    found = recipes.get(job.recipe)
    if found is None:
        raise UserError(
            "job.recipe",
            f"Job {short(job.id)} is of the recipe {job.recipe!r}, which this program does not know.",
            hint=_HINT,
        )
    return found


def policy_of(recipes: Mapping[str, Recipe], job: Job) -> CrawlPolicy:
    """Return the crawl rules of a job, from the parameters it was created with."""
    recipe = recipe_of(recipes, job)
    try:
        return recipe.bind(recipe.params.model_validate(job.params)).policy()
    except ValidationError as error:
        what = "; ".join(f"{'.'.join(map(str, one['loc']))}: {sentence_of(one)}" for one in error.errors())
        raise UserError(
            "job.unusable",
            f"The parameters of job {short(job.id)} cannot be read by this program ({what}).",
            hint=_HINT,
        ) from error


def date(at: datetime) -> str:
    return f"{at.astimezone():%Y-%m-%d}"


async def refuse_gone(view: View, database: Database, job: Job) -> None:
    """Raise an error that says since when, if the job's results are hidden or deleted."""
    identifier = short(job.id)
    if job.state is JobState.ARCHIVED:
        at = await database.read(retention_queries.deleted_at, job.id)
        raise UserError(
            "results.deleted",
            f"The results of job {identifier} were deleted{f' on {date(at)}' if at else ''}.",
            hint="To get them again, run the job again with 'gossamer job run'.",
        )
    kept = await database.read(retention_queries.kept_job, job.id)
    if kept is None or kept.hidden_at is None:
        return
    ahead = look_ahead(kept, view.terms, view.now)
    if ahead.step is NextStep.SHOW:
        return
    back = f"'gossamer job resume {identifier}' shows them again."
    if job.state is JobState.COMPLETED:
        back = "To see them again, raise GOSSAMER_RETENTION and run 'gossamer system retention --run'."
    raise UserError(
        "results.hidden",
        f"The results of job {identifier} are hidden since {date(kept.hidden_at)} "
        f"and will be deleted on {date(ahead.deletes_at)}.",
        hint=back,
    )


async def deletion_schedule(view: View, database: Database, job: Job) -> PlannedStep | None:
    """Return the schedule for deleting the job's results; None while it may find more."""
    if job.state not in OVER:
        return None
    kept = await database.read(retention_queries.kept_job, job.id)
    return look_ahead(kept, view.terms, view.now) if kept else None


async def schedule_if_completed(view: View, database: Database, job: Job) -> PlannedStep | None:
    """Return when a completed job's results are hidden and deleted; None for other jobs."""
    return await deletion_schedule(view, database, job) if job.state is JobState.COMPLETED else None
