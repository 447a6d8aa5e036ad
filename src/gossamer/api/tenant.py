"""Everything an account can see and do: the only access of endpoints to the database.

An endpoint receives a `Tenant` and never a database. Each query names the account, or goes through an
`AccountScopedDatabase`, which checks in the same transaction that the job belongs to the account.
"""

from asyncio import Future
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from gossamer.accounts import queries as account_queries
from gossamer.accounts import service as account_service
from gossamer.accounts.service import PlainKey
from gossamer.api.cursors import Cursors
from gossamer.app import App, key_seals, open_poster
from gossamer.billing.estimating import EstimateInputs, Forecast, forecast
from gossamer.crawl.express import Express
from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.exports.orders import Wish, request_of
from gossamer.intake import control, limits
from gossamer.intake.submit import Submitted, request_again, submit_once
from gossamer.model.account import Account, ApiKey, Bill, Quota, Right
from gossamer.model.export import RESULT, Export
from gossamer.model.job import Job, JobRequest, Progress
from gossamer.model.mention import ErasureTarget
from gossamer.model.money import Budget, Cap
from gossamer.model.states import JobState
from gossamer.model.url import site_of_url
from gossamer.model.webhook import Delivery, DeliveryState, Endpoint, EventType
from gossamer.model.worker import ExpressSlot
from gossamer.recipes import page_results
from gossamer.recipes.registry import is_listed
from gossamer.retention.erase import MAY_HAVE_FOUND, JobMentions, find_mentions, forget_in_job
from gossamer.retention.service import FileSweeper, delete_job, refuse_at_work
from gossamer.store import accounts, budgets, counters, exports, jobs, records, usage
from gossamer.store.accounts import AccountScopedDatabase, NotTheirs
from gossamer.store.given_pages import ScrapedPage, ScrapedPages
from gossamer.store.records import Failure, Failures
from gossamer.webhooks import service as webhook_service
from gossamer.webhooks.service import NewEndpoint

_FEW = 10  # pages of a scrape that is over before its remaining time could be estimated


class TenantWebhooks:
    """Webhooks of one account. Every query names the account."""

    def __init__(self, app: App, account: str) -> None:
        self.id = account
        self._app = app

    async def all(self) -> list[Endpoint]:
        return await webhook_service.everything(self._app.database, self.id)

    async def get(self, webhook_id: UUID) -> Endpoint:
        return await webhook_service.get(self._app.database, self.id, webhook_id)

    async def add(self, url: str, events: Collection[EventType]) -> NewEndpoint:
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
        """Return a delivery of this webhook; those of other webhooks count as missing."""
        found = await webhook_service.delivery(self._app.database, self.id, delivery_id)
        if found.endpoint_id != webhook_id:
            raise webhook_service.no_delivery(delivery_id)
        return found

    async def replay(self, webhook_id: UUID, delivery_id: UUID) -> Delivery:
        await self.delivery(webhook_id, delivery_id)
        return await webhook_service.replay(self._app.database, self.id, delivery_id)

    async def replay_failed(self, webhook_id: UUID, since: datetime | None) -> int:
        return await webhook_service.replay_failed(self._app.database, self.id, webhook_id, since)


class Tenant:
    def __init__(self, app: App, account: str, key: UUID | None, prices: Mapping[str, int], cursors: Cursors) -> None:
        self.id = account
        self.cursors = cursors
        self._app = app
        self._key = key
        self._prices = prices
        self.webhooks = TenantWebhooks(app, account)

    def _of(self, job_id: UUID) -> AccountScopedDatabase:
        return AccountScopedDatabase(self._app.database, self.id, job_id)

    # Jobs.

    async def job(self, job_id: UUID) -> Job:
        found = await self._app.database.read(accounts.job, self.id, job_id)
        if found is None:
            raise NotTheirs(f"There is no job {job_id}.")
        return found

    async def jobs(self, before: UUID | None, limit: int, states: Collection[JobState], recipe: str) -> list[Job]:
        return await self._app.database.read(
            accounts.jobs_page, self.id, before=before, limit=limit, states=states, recipe=recipe
        )

    async def jobs_by(self, door: str, name: str, limit: int) -> list[Job]:
        """Return the jobs submitted by one kind of request, newest first; with `name`, only those of that name."""
        return await self._app.database.read(accounts.jobs_by_door, self.id, door, name, limit)

    async def status(self, job_id: UUID) -> accounts.JobSnapshot:
        found = await self._app.database.read(accounts.job_status, self.id, job_id)
        if found is None:
            raise NotTheirs(f"There is no job {job_id}.")
        job = found.job
        if job.state is not JobState.RUNNING or (job.extent.names_pages and found.progress.pages_open <= _FEW):
            return found
        progress = await self._of(job_id).read(counters.progress, job_id)
        return replace(found, progress=await self._app.remaining_work.add(self._of(job_id), job, progress))

    async def progress(self, job: Job) -> Progress:
        return await self._of(job.id).read(counters.progress, job.id)

    async def budget(self, job: Job) -> Budget:
        return await self._of(job.id).read(budgets.of_job, job.id)

    async def is_waiting(self, job: Job) -> bool:
        return job.state is JobState.PENDING and await self._app.database.read(usage.is_waiting, self.id, job.id)

    async def check_quota(self, key: str | None = None) -> None:
        """Refuse the request if there is no room or no credits are left, before its other errors are reported.

        A request that was accepted before under this idempotency key is not checked again.
        """
        if key:
            known = await self._app.database.read(jobs.is_submit_key_known, self.id, key)
            if known:
                return
        await self._app.database.read(limits.refuse, self.id, self._app.quota)

    async def check_balance(self, key: str | None = None) -> None:
        """Refuse an account without credits."""
        await self._refuse_unpaid()

    async def submit(self, request: JobRequest, door: str, urls: int) -> Submitted:
        """Submit a job of this account; `door` is the kind of request. A page takes at least one credit."""
        return await self._submit(request, door, urls, None)

    async def _submit(self, request: JobRequest, door: str, urls: int, express_slot: ExpressSlot | None) -> Submitted:
        bill = Bill(door, self._app.quota, self._key, urls, urls)
        whole = replace(request, account=self.id, bill=bill)
        return await submit_once(self._app.database, self._app.recipes, whole, express_slot)

    async def submit_express(
        self, request: JobRequest, door: str, express: Express
    ) -> "tuple[Job, Future[None] | None]":
        """Submit one page that a caller waits for.

        If it is crawled at once, also return a future that is done afterwards.
        """
        express_slot = express.express_slot(request.targets[0].host)
        try:
            made = await self._submit(request, door, 1, express_slot)
        except BaseException:
            if express_slot:
                express.leave(express_slot)
            raise
        if express_slot and made.visit:
            return made.job, express.hand_over(express_slot, made.visit)
        if express_slot:
            express.leave(express_slot)
        return made.job, None

    async def promise(self) -> None:
        """Make a job durable that was submitted for immediate crawling, before it is announced to the client."""
        await self._app.database.flush()

    async def foresee(self, asked: EstimateInputs) -> Forecast:
        """Forecast the cost of a job, based on the past jobs of this account."""
        return await forecast(self._app.database, replace(asked, account=self.id))

    async def pause(self, job: Job) -> None:
        await control.pause(self._of(job.id), job)

    async def resume(self, job: Job, cap: Cap) -> None:
        """Resume a job if the account has room; a job that has not started waits otherwise."""
        await self._refuse_unpaid()
        if job.state is JobState.PENDING:
            await control.start(self._of(job.id), job, self._room)
        else:
            await control.resume(self._of(job.id), job, cap, self._room)

    async def rename(self, job: Job, name: str) -> Job:
        return await control.rename(self._of(job.id), job, name)

    async def again(self, job: Job, name: str, key: str) -> JobRequest:
        """Return the request for a job like this one; the same request if the key was used before."""
        if key and not name:
            name = await self._app.database.read(jobs.name_under, self.id, key)
        listed = is_listed(job.recipe)
        made = await self._of(job.id).read(request_again, job, name, self.id, listed=listed)
        return replace(made, submit_key=key)

    async def cancel(self, job: Job) -> None:
        await control.cancel(self._of(job.id), job)
        if job.state is JobState.PENDING:
            # It has not started: its reserved credits are free again at once.
            await self._app.database.write(usage.close, self.id, job.id, self._prices)

    async def give_up(self, job: Job) -> None:
        """Cancel a job whose client has stopped waiting. A job that has just ended remains unchanged."""
        try:
            await self.cancel(await self.job(job.id))
        except UserError as error:
            if error.code != "job.state":
                raise

    async def retry_failed(self, job: Job) -> control.Retried:
        await self._refuse_unpaid()
        return await control.retry_failed(self._of(job.id), job, self._room)

    def _room(self, tx: Tx, job_id: UUID) -> bool:
        return limits.go_on(tx, self.id, self._app.quota, job_id)

    async def _refuse_unpaid(self) -> None:
        await self._app.database.read(limits.refuse_unpaid, self.id, await self.quota())

    async def delete(self, job: Job) -> int:
        """Delete the results of a job and return the number of rows. Its usage is kept."""
        refuse_at_work(job, "it cannot be deleted")
        await self._app.database.write(usage.close, self.id, job.id, self._prices)
        rows = await delete_job(self._of(job.id), job)
        await FileSweeper(self._app.database, self._app.export_store(), self._app.page_files()).remove_now()
        return rows

    # Results.

    async def found(self, job: Job, kind: str, after: bytes, limit: int) -> list[records.KeyedRecord]:
        await self._refuse_gone(job)
        return await self._of(job.id).read(records.found, job.id, kind, after, limit)

    async def failed_sites(self, job: Job, after: bytes, limit: int) -> Failures:
        return await self._of(job.id).read(records.failed_sites, job.id, after, limit)

    async def failed_pages(self, job: Job, after: bytes, limit: int) -> Failures:
        """Return failed pages; pages that were given by address appear under that address, also after a redirect."""
        if not job.extent.names_pages:
            return await self._of(job.id).read(records.failed_pages, job.id, after, limit)
        found = await page_results.failed_after(self._of(job.id), job.id, after.hex(), limit)
        failed = [Failure(bytes.fromhex(one.place), site_of_url(one.url), one.url, one.trouble) for one in found.pages]
        return Failures(failed, bytes.fromhex(found.next))

    async def _refuse_gone(self, job: Job) -> None:
        if job.state is JobState.ARCHIVED:
            raise UserError(
                "results.deleted",
                f"The results of job {job.id} were deleted.",
                hint="To get them again, submit the job again.",
            )

    async def scraped(self, job: Job, url: str) -> ScrapedPage | None:
        return await page_results.read_result(self._of(job.id), job.id, page_results.kind_of(job.recipe), url)

    async def scraped_after(self, job: Job, after: str, limit: int) -> ScrapedPages:
        await self._refuse_gone(job)
        kind = page_results.kind_of(job.recipe)
        return await page_results.results_after(self._of(job.id), job.id, kind, after, limit)

    async def raw_of(self, job: Job, page: ScrapedPage) -> bytes | None:
        """Return the original body of a page, if it was requested and still exists."""
        return await self._app.page_files().read(job.id, page.page_key, "raw")

    async def with_files(self, job: Job, page: ScrapedPage) -> ScrapedPage:
        if not page.data.get("files"):
            return page
        return await page_results.with_files(self._app.page_files(), job.id, page)

    async def forget(self, mention: ErasureTarget, job_id: UUID | None, *, dry_run: bool) -> list[JobMentions]:
        """Remove what the account's jobs have stored about a page or a domain, and return it.

        With `dry_run`, only return what would be removed.
        """
        found = []
        if job_id:
            wanted = [await self.job(job_id)]
        else:
            wanted = await self._app.database.read(accounts.jobs_in_states, self.id, *MAY_HAVE_FOUND)
        for job in wanted:
            kinds = self._app.recipes[job.recipe].kinds if job.recipe in self._app.recipes else ()
            if one := await find_mentions(self._of(job.id), job, kinds, mention):
                found.append(one)
        if not dry_run:
            for one in found:
                refuse_at_work(one.job, "nothing can be forgotten in it")
            for one in found:
                await forget_in_job(self._of(one.job.id), one, mention)
            await FileSweeper(self._app.database, self._app.export_store(), self._app.page_files()).remove_now()
        return found

    # Exports.

    async def order_files(self, job: Job, wish: Wish) -> list[Export]:
        await self._refuse_gone(job)
        wanted = [request_of(order) for order in wish.orders(job)]
        return await self._of(job.id).write(exports.add, job.id, wanted, self._app.export_store().owner)

    async def files(self, job: Job) -> list[Export]:
        return await self._of(job.id).read(exports.of_job, job.id)

    async def file(self, job: Job, export_id: UUID) -> Export:
        for one in await self.files(job):
            if one.id == export_id:
                return one
        raise UserError(
            "export.not_found",
            f"Job {job.id} has no export {export_id}.",
            hint=f"See GET /v1/jobs/{job.id}/exports for the ones it has.",
        )

    async def result_file(self, job: Job) -> Export | None:
        """Return the newest result file of a scrape job."""
        return next((one for one in reversed(await self.files(job)) if one.type == RESULT), None)

    async def cancel_files(self, job: Job) -> int:
        return await self._of(job.id).write(exports.cancel, job.id)

    # The account itself.

    async def account(self) -> Account:
        found = await self._app.database.read(accounts.get, self.id)
        assert found is not None  # noqa: S101 - its key was good a moment ago, and accounts are never removed
        return found

    async def quota(self) -> Quota:
        return self._app.quota.of(await self.account())

    async def spent(self) -> int:
        """Return the account credits used this month."""
        return await self._app.database.read(usage.credits_of_month, self.id, f"{self._app.clock.now():%Y-%m}")

    async def at_work(self) -> tuple[int, int]:
        """Return the number of running jobs, and of jobs that wait for one of them to end."""
        running = await self._app.database.read(accounts.count_jobs, self.id, *limits.AT_WORK)
        return running, await self._app.database.read(usage.count_waiting, self.id)

    async def use_of(self, job: Job) -> usage.JobUsage | None:
        """Return the job's usage so far; None for a job that was not submitted through the server."""
        return await self._app.database.read(usage.one, self.id, job.id)

    async def used(self, first: str, last: str, before: UUID | None, limit: int) -> list[usage.JobUsage]:
        return await self._app.database.read(usage.page, self.id, first, last, before, limit)

    async def used_by_day(self, first: str, last: str) -> list[usage.UsageDay]:
        return await self._app.database.read(usage.days, self.id, first, last)

    async def keys(self) -> Sequence[ApiKey]:
        return await self._app.database.read(account_queries.keys_of, self.id)

    async def add_key(self, name: str, right: Right) -> tuple[PlainKey, ApiKey]:
        return await account_service.issue_key(self._app.database, self.id, name, right)

    async def revoke_key(self, key_id: UUID) -> ApiKey:
        found = await self._app.database.read(account_queries.get_key, self.id, key_id)
        if found is None:
            raise UserError("key.not_found", f"There is no key {key_id}.", hint="See GET /v1/keys.")
        await self._app.database.write(account_queries.revoke_key, self.id, key_id)
        return await self._app.database.read(account_queries.get_key, self.id, key_id) or found
