"""Submit a job: from a request to rows in one transaction.

A repeated request takes over neither the learned data of its job nor its own provider keys.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Protocol
from uuid import UUID

import orjson
from pydantic import BaseModel

from gossamer.db.database import Database
from gossamer.db.tables import QUEUED
from gossamer.db.transactions import Tx
from gossamer.errors import UserError
from gossamer.intake.limits import admit
from gossamer.intake.typed_id import SHORTEST, looks_like_id
from gossamer.model.ids import short
from gossamer.model.job import CrawlPolicy, Extent, Given, Job, JobRequest, Priority, Target
from gossamer.model.money import Cap
from gossamer.model.page import asked_page, rung_named
from gossamer.model.recipe import Bound
from gossamer.model.record import Follow
from gossamer.model.rungs import HOME_LANE, Rung
from gossamer.model.states import JobState
from gossamer.model.url import domain_of, site_of_url
from gossamer.model.worker import ExpressSlot
from gossamer.store import budgets, estimates, given_pages, jobs, openings, queue_status, sites, usage, visits
from gossamer.store.openings import Opening
from gossamer.store.sites import GivenSite
from gossamer.store.visit_transitions import Moving

LAST = "last"
"""The name that stands for the newest job."""

LONGEST_NAME = 200
LONGEST_KEY = 200


class Submittable(Protocol):
    """The part of a recipe that is needed to submit a job."""

    def read(self, given: Mapping[str, Any]) -> BaseModel:
        """Validate the parameters of a job. Raises UserError."""
        ...

    @property
    def given(self) -> Given:
        """The input of its jobs."""
        ...

    @property
    def bind(self) -> Callable[[Any], Bound]:
        """The recipe with one job's parameters."""
        ...


@dataclass(frozen=True, slots=True)
class Submitted:
    """The job of a request; not a new one if the request was repeated under its key."""

    job: Job
    is_new: bool = True
    visit: UUID | None = None  # its only visit, if it was leased to the express slot


@dataclass(frozen=True, slots=True)
class _Plan:
    """Initial state of a new job, made by its recipe."""

    first: Rung
    extent: Extent
    asked: Sequence[Opening]  # pages requested by its parameters


async def submit(database: Database, recipes: Mapping[str, Submittable], request: JobRequest) -> Job:
    """Check the request against its recipe and create the job with its sites, running unless asked to wait."""
    return (await submit_once(database, recipes, request)).job


async def submit_once(
    database: Database, recipes: Mapping[str, Submittable], request: JobRequest, express_slot: ExpressSlot | None = None
) -> Submitted:
    """Like `submit`; a request repeated under its key returns the job it created before, in its current state.

    A job of one visit does not wait for its turn if a free express slot is offered: it is leased at its
    creation. The caller that offers the slot must not announce the job before a further write about it.
    """
    name = check_name(request.name)
    if request.submit_key:
        check_key(request.submit_key)
    recipe = recipes[request.recipe]
    params = recipe.read(request.params)
    bound = recipe.bind(params)
    seeds = list(bound.seeds())
    targets = _with_seeds(request.targets, [seed for seed in seeds if seed.is_link])
    asked = [_asked(bound, seed) for seed in seeds if not seed.is_link]
    policy = bound.policy()
    plan = _Plan(policy.ladder.first, _extent(recipe, policy), asked)
    request = replace(request, name=name, params=params.model_dump(mode="json"), targets=targets)
    write = database.write_nosync if express_slot else database.write
    # Without defaults, so that a new parameter in a later version does not change the digest.
    digest = _digest(request, params.model_dump(mode="json", exclude_defaults=True)) if request.submit_key else b""
    if policy.max_concurrency:
        request = replace(
            request, max_concurrency=min(policy.max_concurrency, request.max_concurrency or policy.max_concurrency)
        )
    if not request.submit_key:
        return await write(_create, request, plan, express_slot)
    # The job with this key may be an express one that was not synced to the disk yet.
    try:
        made = await write(_create_once, request, plan, express_slot, digest)
    except UserError as error:
        if error.code == "job.key_taken":
            await database.flush()
        raise
    if not made.is_new and not express_slot:
        await database.flush()
    return made


def _extent(recipe: Submittable, policy: CrawlPolicy) -> Extent:
    most, top = policy.pages_per_site, policy.top_pages
    return Extent(policy.as_given, recipe.given is Given.PAGES, most, min(most, top))


def check_name(given: str) -> str:
    """Return the name as stored, or raise UserError."""
    name = " ".join(given.replace("\0", " ").split())
    if not name or len(name) > LONGEST_NAME:
        has = f"has {len(name):,}" if name else "is empty"
        raise UserError(
            "job.name",
            f"A job's name has 1 to {LONGEST_NAME} characters, this one {has}.",
            hint='Give one such as "Acme Q1".',
        )
    if name.lower() == LAST:
        raise UserError(
            "job.name", f"{name!r} cannot be a job's name: it stands for the newest job.", hint="Choose another name."
        )
    if looks_like_id(name):
        raise UserError(
            "job.name",
            f"{name!r} cannot be a job's name: it looks like an id ({SHORTEST} or more of 0-9 and a-f), so nobody "
            "could tell which job is meant.",
            hint=f'Choose another name, such as "Job {name}".',
        )
    return name


def check_key(key: str) -> None:
    if not 0 < len(key) <= LONGEST_KEY or not key.isprintable() or any(character.isspace() for character in key):
        raise UserError(
            "job.submit_key",
            f"An idempotency key has 1 to {LONGEST_KEY} visible characters, without spaces.",
            hint="Give something like --idempotency-key nightly-2026-01-18.",
        )


def _digest(request: JobRequest, params: Mapping[str, Any]) -> bytes:
    """Return a digest of a request, independent of the order of its sites."""
    targets = sorted((target.host, target.entries, sorted(target.pages)) for target in request.targets)
    asked: list[Any] = [request.recipe, request.name, params, targets]
    # Without defaults, which may change between two requests.
    given = (
        ("start", request.start, True),
        ("priority", request.priority, Priority.NORMAL),
        ("cap", request.cap, Cap()),
        ("at_once", request.max_concurrency, None),
    )
    how = {name: value for name, value, usual in given if value != usual}
    if how:
        asked.append(how)
    return blake2b(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS), digest_size=16).digest()


def _with_seeds(targets: tuple[Target, ...], seeds: Iterable[Follow]) -> tuple[Target, ...]:
    """Merge the sites of the user's list with those of the parameters."""
    sites = {target.host: target for target in targets}
    for seed in seeds:
        host = site_of_url(seed.url)
        known = sites.get(host, Target(host, (), seed.url))
        sites[host] = replace(known, entries=(*known.entries, seed.url))
    return tuple(sites.values())


def _asked(bound: Bound, seed: Follow) -> Opening:
    """Return the opening of a page requested by the parameters."""
    policy = bound.policy(seed.step)
    page = asked_page(seed, policy, "", 0)
    return Opening(page, site_of_url(page.url), rung_named(page.rung, policy).lane, given=f"asked for as {seed.step}")


def _create_once(
    tx: Tx, request: JobRequest, plan: _Plan, express_slot: ExpressSlot | None, digest: bytes
) -> Submitted:
    earlier = jobs.submitted_under(tx, request.account, request.submit_key)
    if earlier is None:
        made = _create(tx, request, plan, express_slot)
        jobs.keep_submit_key(tx, made.job.id, request.submit_key, digest)
        return made
    if earlier.digest != digest:
        # Requests through the API can only use complete ids.
        known = earlier.job_id if request.bill else short(earlier.job_id)
        raise UserError(
            "job.key_taken",
            f"The idempotency key {request.submit_key!r} belongs to job {known}, which was asked for something else.",
            hint=f"Look at it with 'gossamer job status {short(earlier.job_id)}', or give another key.",
        )
    return Submitted(_present(tx, earlier.job_id), is_new=False)


def _create(tx: Tx, request: JobRequest, plan: _Plan, express_slot: ExpressSlot | None) -> Submitted:
    # Jobs of the command line have no quota.
    begins = admit(tx, request.account, request.bill) if request.bill else True
    # A scrape of one site adds a single visit, and its caller may be waiting.
    is_small = len(request.targets) == 1 and bool(request.targets[0].pages)
    full = queue_status.full(tx) if request.start and not is_small else None
    begins = begins and full is None
    sites_total, account = len(request.targets), request.account
    job = jobs.create(
        tx,
        request.name,
        request.recipe,
        request.params,
        sites_total,
        request.priority,
        account,
        request.max_concurrency,
        sum(len(target.pages) for target in request.targets),
        plan.extent,
    )
    created = sites.create_many(tx, job.id, request.targets)
    given_pages.give_pages(tx, job.id, request.targets, created, plan.first)
    if plan.asked:
        openings.open_pages(tx, job.id, plan.asked)
    budgets.open_job(tx, job.id, request.limit)
    jobs.keep_provider_keys(tx, job.id, request.sealed_keys)
    if request.estimate:
        estimates.keep(tx, job.id, request.estimate)
    if request.bill:
        outcome = QUEUED if request.start and not begins else JobState.PENDING
        usage.begin(tx, account, job, request.bill, outcome)
    if full:
        jobs.hold_back(tx, job.id, full)
        job = replace(job, reason=full)
    visit = None
    if request.start and begins:
        jobs.move(tx, job.id, JobState.RUNNING, who="submit", account=account, is_new=True)
        job = replace(job, state=JobState.RUNNING, started_at=tx.now)
        if express_slot and len(created) == 1 and not plan.asked and plan.first.lane == HOME_LANE:
            visit = _seated(
                tx, Moving(created[0][1], job.id, created[0][0], None), request.targets[0].host, express_slot
            )
    return Submitted(job, visit=visit)


def _seated(tx: Tx, visit: Moving, host: str, express_slot: ExpressSlot) -> UUID | None:
    """Lease the visit to the owner of the express slot, unless its domain has its maximum of visits."""
    domain = domain_of(host)
    if visits.busy_domains(tx, [domain]).get(domain, 0) >= visits.MOST_PER_DOMAIN:
        return None
    visits.lend(tx, visit, express_slot.token, express_slot.worker, express_slot.lease)
    return visit.id


def _present(tx: Tx, job_id: UUID) -> Job:
    job = jobs.get(tx, job_id)
    assert job is not None  # noqa: S101 - its row was seen or written in this very transaction
    return job


_NUMBERED = re.compile(r" \((\d{1,6})\)$")


def request_again(tx: Tx, job: Job, name: str = "", account: str | None = None, *, listed: bool = True) -> JobRequest:
    """A request like that of `job`, under another name, or its own with the next number.

    `listed`: its recipe is given sites or pages, so that without these there is nothing to run again.
    """
    given = sites.given(tx, job.id)
    pages = sites.given_pages(tx, job.id) if job.extent.names_pages else {}
    if (listed and not given) or (job.extent.names_pages and not pages):
        raise UserError(
            "job.no_list",
            f"The list of job {short(job.id)} is gone: it was deleted with its results.",
            hint="Start a new job with the list.",
        )
    targets = tuple(_target(one, pages.get(one.id, ())) for one in given)
    return JobRequest(
        check_name(name) if name else next_name(job.name, jobs.names_like(tx, _plain(job.name), account)),
        job.recipe,
        job.params,
        targets,
        priority=job.priority,
        cap=budgets.of_job(tx, job.id).cap,
        max_concurrency=job.max_concurrency,
    )


def _target(one: GivenSite, pages: Sequence[str]) -> Target:
    # Without other spellings that were tried, which were not in the list.
    return Target(one.host, one.entries, one.given, tuple(url for url in pages if url not in one.entries[1:]))


def next_name(name: str, taken: Sequence[str]) -> str:
    """`Acme Q1` after itself is `Acme Q1 (2)`, and then `Acme Q1 (3)`."""
    plain = _plain(name)
    numbers = [int(found[1]) if (found := _NUMBERED.search(one)) else 1 for one in taken if _plain(one) == plain]
    ending = f" ({max(numbers, default=1) + 1})"
    return plain[: LONGEST_NAME - len(ending)] + ending


def _plain(name: str) -> str:
    return _NUMBERED.sub("", name)
