"""Accounts, their keys and logins, on both databases; and that nobody reaches another's job."""

from asyncio import gather
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import delete, func, select, update

from gossamer.accounts import passwords
from gossamer.accounts import queries as account_queries
from gossamer.accounts.service import digest_of, first_key, issue_key, looks_like_key, open_account
from gossamer.db import tables
from gossamer.db import tables as rows
from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.intake import control
from gossamer.intake.limits import go_on, let_in
from gossamer.intake.submit import submit, submit_once
from gossamer.model.account import DEFAULT, Bill, Quota, Right
from gossamer.model.job import Job, JobRequest, Target
from gossamer.model.states import JobState
from gossamer.recipes.prospect import PROSPECT
from gossamer.store import accounts, jobs, usage
from gossamer.store.accounts import AccountScopedDatabase, NotTheirs
from tests.conftest import AnyDatabase

RECIPES = {"prospect": PROSPECT}
ANY = Quota()


def asked(name: str, account: str, quota: Quota = ANY, *, key: str = "", credits: int = 1) -> JobRequest:
    target = Target("a.test", ("http://a.test/",), "a.test")
    bill = Bill("jobs", quota, urls=1, credits=credits)
    return JobRequest(name, "prospect", {"keywords": ["CRM"]}, (target,), submit_key=key, account=account, bill=bill)


async def two_accounts(database: AnyDatabase) -> None:
    for name in ("ann", "bob"):
        await open_account(database, name, name)


async def test_a_key_is_found_by_its_digest_until_it_is_revoked(database: AnyDatabase) -> None:
    await two_accounts(database)
    new, kept = await issue_key(database, "ann", "nightly", Right.READ)
    assert looks_like_key(new.text)
    found = await database.read(account_queries.key_holder, digest_of(new.text))
    assert found is not None
    assert (found.account, found.right, found.start) == ("ann", Right.READ, new.text[:12])
    assert not await database.write(account_queries.revoke_key, "bob", kept.id), "another account cannot revoke it"
    assert await database.write(account_queries.revoke_key, "ann", kept.id)
    assert await database.read(account_queries.key_holder, digest_of(new.text)) is None


async def test_a_closed_account_is_refused_with_all_its_keys(database: AnyDatabase) -> None:
    await two_accounts(database)
    new, _ = await issue_key(database, "ann", "nightly", Right.READ)
    await database.write(_close, "ann")
    assert await database.read(account_queries.key_holder, new.digest) is None


def _close(tx: Tx, account: str) -> None:
    accounts.change(tx, account, {"closed_at": tx.now})


async def test_the_first_key_is_made_once(database: AnyDatabase) -> None:
    first = await first_key(database)
    assert first is not None
    held = await database.read(account_queries.key_holder, first.digest)
    assert held is not None
    assert (held.account, held.right) == (DEFAULT, Right.ADMIN)
    assert await first_key(database) is None


async def test_a_login_is_renewed_once_per_token_and_ends_when_one_comes_twice(database: AnyDatabase) -> None:
    await two_accounts(database)
    user = await database.write(account_queries.add_user, "ann", "ann@acme.test", "digest", Right.READ)
    assert user is not None
    assert await database.write(account_queries.add_user, "bob", "ann@acme.test", "digest", Right.READ) is None
    until = user.created_at + timedelta(days=1)
    login = await database.write(account_queries.begin_login, user.id, b"one", until)
    assert await database.write(account_queries.renew_login, login, b"one", b"two") is not None
    assert await database.read(account_queries.get_login, login) is not None
    assert await database.write(account_queries.renew_login, login, b"one", b"three") is None, "it was used before"
    assert await database.read(account_queries.get_login, login) is None


async def test_passwords_are_kept_as_digests() -> None:
    kept = passwords.digest("correct horse battery")
    assert "horse" not in kept
    assert passwords.fits("correct horse battery", kept)
    assert not passwords.fits("correct horse batterz", kept)
    assert not passwords.fits("a password that nobody has", None)
    with pytest.raises(UserError, match="12 to"):
        passwords.digest("short")


async def test_a_job_is_seen_by_its_own_account_only(database: AnyDatabase) -> None:
    await two_accounts(database)
    job = await submit(database, RECIPES, asked("hers", "ann"))
    assert await database.read(accounts.job, "ann", job.id) is not None
    assert await database.read(accounts.job, "bob", job.id) is None
    assert [one.id for one in await database.read(_all_of, "ann")] == [job.id]
    assert await database.read(_all_of, "bob") == []
    found = await AccountScopedDatabase(database, "ann", job.id).read(jobs.get, job.id)
    assert found is not None
    with pytest.raises(NotTheirs):
        await AccountScopedDatabase(database, "bob", job.id).read(jobs.get, job.id)
    with pytest.raises(NotTheirs):
        await AccountScopedDatabase(database, "bob", job.id).write(jobs.move, job.id, JobState.CANCELLED)
    with pytest.raises(NotTheirs):
        await AccountScopedDatabase(database, "ann", uuid4()).read_together(lambda tx: jobs.get(tx, job.id))


def _all_of(tx: Tx, account: str) -> list[Job]:
    return list(accounts.jobs_page(tx, account, before=None, limit=10))


async def test_an_idempotency_key_belongs_to_an_account(database: AnyDatabase) -> None:
    await two_accounts(database)
    hers = await submit_once(database, RECIPES, asked("x", "ann", key="k"))
    his = await submit_once(database, RECIPES, asked("x", "bob", key="k"))
    again = await submit_once(database, RECIPES, asked("x", "ann", key="k"))
    assert hers.is_new
    assert his.is_new
    assert not again.is_new
    assert again.job.id == hers.job.id != his.job.id


async def test_what_is_too_much_waits_or_is_refused(database: AnyDatabase) -> None:
    await two_accounts(database)
    quota = Quota(credits=10, running=1, queued=1)
    first = await submit(database, RECIPES, asked("first", "ann", quota))
    second = await submit(database, RECIPES, asked("second", "ann", quota))
    assert (first.state, second.state) == (JobState.RUNNING, JobState.PENDING)
    with pytest.raises(UserError, match="no room for another"):
        await submit(database, RECIPES, asked("third", "ann", quota))
    assert await database.write(let_in, lambda _, __: quota) == 0
    await database.write(jobs.move, first.id, JobState.CANCELLED)
    assert await database.write(let_in, lambda _, __: quota) == 1
    began = await database.read(accounts.job, "ann", second.id)
    assert began is not None
    assert began.state is JobState.RUNNING


async def test_credits_are_those_of_the_month_and_of_the_account(database: AnyDatabase) -> None:
    await two_accounts(database)
    quota = Quota(credits=10)
    job = await submit(database, RECIPES, asked("first", "ann", quota, credits=8))
    with pytest.raises(UserError, match="takes 3 credits, and 2 of 10 are left"):
        await submit(database, RECIPES, asked("second", "ann", quota, credits=3))
    await submit(database, RECIPES, asked("his", "bob", quota, credits=10))
    # It has read nothing in the end: nothing was taken.
    await database.write(jobs.move, job.id, JobState.CANCELLED)
    assert await database.read(usage.ended) == [("ann", job.id)]
    closed = await database.write(usage.close, "ann", job.id, {})
    assert closed is not None
    assert (closed.credits, closed.outcome, closed.is_open) == (0, "cancelled", False)
    assert await database.read(usage.ended) == []
    month = f"{job.created_at:%Y-%m}"
    assert await database.read(usage.credits_of_month, "ann", month) == 0
    assert await database.read(usage.credits_of_month, "bob", month) == 10


def _summed(tx: Tx, account: str, month: str) -> int:
    mine = (rows.usage.c.account_id == account) & (rows.usage.c.month == month)
    return int(tx.run(select(func.coalesce(func.sum(rows.usage.c.credits), 0)).where(mine)).scalar_one())


async def test_the_credits_of_a_month_are_the_sum_of_its_requests(database: AnyDatabase) -> None:
    await two_accounts(database)
    made = [await submit(database, RECIPES, asked(f"{n}", "ann", Quota(), credits=n)) for n in range(1, 9)]
    month = f"{made[0].created_at:%Y-%m}"
    assert await database.read(usage.credits_of_month, "ann", month) == await database.read(_summed, "ann", month) == 36
    for job in made[:4]:
        await database.write(jobs.move, job.id, JobState.CANCELLED)
    # Several may make up the same bill at once, and do not know of each other.
    await gather(*(database.write(usage.close, "ann", job.id, {}) for job in made[:4] for _ in range(4)))
    assert await database.read(usage.credits_of_month, "ann", month) == await database.read(_summed, "ann", month) == 26
    # What goes on counts when it ends once more, as what it has taken then.
    await database.write(usage.reopen, "ann", made[0].id)
    await database.write(usage.close, "ann", made[0].id, {})
    assert await database.read(usage.credits_of_month, "ann", month) == await database.read(_summed, "ann", month)
    await database.write(usage.forget, made[0].created_at + timedelta(days=62))
    assert await database.read(usage.credits_of_month, "ann", month) == 0


async def test_what_a_program_of_before_has_written_is_counted_when_the_month_is_set_anew(
    database: AnyDatabase,
) -> None:
    await two_accounts(database)
    job = await submit(database, RECIPES, asked("first", "ann", Quota(), credits=8))
    month = f"{job.created_at:%Y-%m}"
    await database.write(lambda tx: tx.run(update(rows.usage).values(credits=100)))
    assert await database.read(usage.credits_of_month, "ann", month) == 8
    await gather(*(database.write(usage.set_month_anew) for _ in range(3)))
    assert await database.read(usage.credits_of_month, "ann", month) == 100
    await submit(database, RECIPES, asked("second", "ann", Quota(), credits=5))
    assert await database.read(usage.credits_of_month, "ann", month) == 105


async def test_what_is_left_is_known_without_a_look_at_the_requests(database: AnyDatabase) -> None:
    await two_accounts(database)
    job = await submit(database, RECIPES, asked("first", "ann", Quota(credits=10), credits=8))
    month = f"{job.created_at:%Y-%m}"
    await database.write(lambda tx: tx.run(delete(rows.usage)))
    assert await database.read(usage.credits_of_month, "ann", month) == 8


async def test_jobs_of_the_command_line_are_the_first_accounts(database: AnyDatabase) -> None:
    job = await database.write(jobs.create, "mine", "prospect", {}, 1)
    assert await database.read(accounts.job, DEFAULT, job.id) is not None
    await database.write(lambda tx: tx.run(update(tables.jobs).values(account_id="ann")))
    assert await database.read(accounts.job, DEFAULT, job.id) is None


async def test_a_key_is_found_by_its_account_however_many_others_fit(database: AnyDatabase) -> None:
    await two_accounts(database)
    hers = await database.write(account_queries.add_key, "ann", "hers", Right.READ, "gsk_a", b"a" * 32)
    digits = hers.id.hex[:2]  # ids begin with the time, so that those made next begin alike
    for number in range(6):
        await database.write(account_queries.add_key, "bob", "his", Right.READ, "gsk_b", bytes([number]) * 32)
    assert [key.id for key in await database.read(account_queries.keys_matching, digits, "ann")] == [hers.id]
    assert {key.account for key in await database.read(account_queries.keys_matching, digits, None)} == {"bob"}


def _put(tx: Tx, job: Job, state: JobState) -> None:
    """As if the job had come there."""
    tx.run(update(tables.jobs).where(tables.jobs.c.id == job.id).values(state=state))


async def _tried(database: AnyDatabase, verb: Callable[..., Awaitable[object]], job: Job, quota: Quota) -> JobState:
    now = await database.read(jobs.get, job.id)
    assert now is not None
    await verb(database, now, room=lambda tx, job_id: go_on(tx, "ann", quota, job_id))
    return (await database.read(jobs.states, [job.id]))[job.id]


async def test_a_job_goes_on_only_where_there_is_room_for_it(database: AnyDatabase) -> None:
    await two_accounts(database)
    quota = Quota(running=1, queued=1)
    first = await submit(database, RECIPES, asked("first", "ann", quota))
    second = await submit(database, RECIPES, asked("second", "ann", quota))
    third = await submit(database, RECIPES, replace(asked("third", "ann", Quota()), start=False))
    # One that waits still does; one that was to wait for its owner finds the queue full.
    assert await _tried(database, control.start, second, quota) is JobState.PENDING
    assert await database.read(usage.is_waiting, "ann", second.id)
    with pytest.raises(UserError, match="1 job at work and 1 job waiting: there is no room for another"):
        await _tried(database, control.start, third, quota)
    assert not await database.read(usage.is_waiting, "ann", third.id)
    assert await _tried(database, control.start, third, Quota(running=1, queued=2)) is JobState.PENDING
    assert await database.read(usage.is_waiting, "ann", third.id)
    # What was at work goes back to it only when a place is free.
    await database.write(jobs.move, first.id, JobState.PAUSING)
    assert await _tried(database, control.resume, first, quota) is JobState.RUNNING  # it had kept its place
    await database.write(jobs.move, first.id, JobState.COMPLETED)
    assert await database.write(let_in, lambda _, __: quota) == 1
    for verb, state in ((control.retry_failed, JobState.COMPLETED), (control.resume, JobState.CANCELLED)):
        await database.write(_put, first, state)
        with pytest.raises(UserError, match="there is no room for another"):
            await _tried(database, verb, first, quota)
        assert (await database.read(jobs.states, [first.id]))[first.id] is state
    await database.write(jobs.move, second.id, JobState.CANCELLED)
    assert await _tried(database, control.resume, first, quota) is JobState.RUNNING
    bill = await database.read(usage.one, "ann", first.id)
    assert bill is not None
    assert (bill.is_open, bill.outcome) == (True, JobState.RUNNING)
