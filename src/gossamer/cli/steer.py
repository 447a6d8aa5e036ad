"""The commands that change a job, and follow what comes of it."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from gossamer.assembly import App
from gossamer.cli import costs, estimates, methods, report, tables, words
from gossamer.cli.at_work import runner_of
from gossamer.cli.background import start_worker
from gossamer.cli.follow import Follower, worked_by_cluster
from gossamer.cli.lists import without_excluded
from gossamer.cli.screen import choose_screen
from gossamer.cli.session import say, say_json
from gossamer.intake import control
from gossamer.intake.keywords import loaded_sentence, read_keywords
from gossamer.intake.ladders import choose_ladder, missing_sentence
from gossamer.intake.submit import check_key, check_name, check_params, submit_once
from gossamer.intake.targets import read_targets
from gossamer.model.ids import short
from gossamer.model.job import Job, JobRequest, Progress
from gossamer.model.money import Cap
from gossamer.model.priority import Priority
from gossamer.model.states import JobState
from gossamer.store import budgets, counters, jobs, reservations, sites, visits

_LONGEST_CANCEL = 60.0  # seconds


@dataclass(frozen=True, slots=True)
class Request:
    """What `job run` was given: lists in files, and what the recipe is to be told besides."""

    name: str
    domains: Path
    keywords: Path
    exclude_domains: Path | None
    params: Mapping[str, Any]
    start: bool
    submit_key: str | None = None
    priority: Priority = Priority.NORMAL
    cap: Cap = Cap()
    mode: str | None = None
    ladder: str | None = None
    probe: int | None = None  # homepages to look at first
    yes: bool = False  # start without asking


async def run_job(app: App, given: Request, *, processes: int | None, detach: bool, as_json: bool) -> int:
    """Read the lists, create the job, and work or watch it."""
    app.check()
    check_name(given.name)
    rungs = choose_ladder(given.mode, given.ladder, app.rungs)
    if given.submit_key is not None:
        check_key(given.submit_key)
    targets, keywords = read_targets(given.domains), read_keywords(given.keywords)
    say(loaded_sentence(keywords, given.keywords), quiet=as_json)
    targets = without_excluded(targets, given.exclude_domains, quiet=as_json)
    params = {"keywords": list(keywords.keywords), **given.params, **rungs}
    if missing := missing_sentence(rungs, app.rungs):
        say(missing, quiet=as_json)
    key = given.submit_key or ""
    cap = estimates.with_usual(app, given.cap)
    check_params(app.recipes["prospect"], params)
    found = await estimates.foresee(app, estimates.asked_for(app, params, targets), given.probe, quiet=as_json)
    said = estimates.tell(found, params, cap, quiet=as_json)
    if given.start:
        estimates.agree(app, said, cap, yes=given.yes, quiet=as_json)
    request = JobRequest(given.name, "prospect", params, targets.targets, given.start, key, given.priority, cap, said)
    submitted = await submit_once(app.database, app.recipes, request)
    job = submitted.job
    created = "created" if submitted.is_new else "was created before with this key"
    say(f"Job {job.id} (short: {short(job.id)}) {created}", quiet=as_json)
    hint = report.next_step(job, await runner_of(app))
    if not submitted.is_new and (job.state is not JobState.RUNNING or not given.start):
        return await _answer(app, job.id, as_json, [f"It is {job.state}. {hint}".rstrip()])
    if not given.start:
        return await _answer(app, job.id, as_json, [hint])
    return await _work(app, job.id, processes=processes, detach=detach, as_json=as_json)


async def start_job(
    app: App, text: str, *, processes: int | None, detach: bool, as_json: bool, yes: bool = False
) -> int:
    job = await control.find_job(app.database, text)
    if job.state is JobState.PENDING and (said := await estimates.stored(app, job.id)):
        for line in await estimates.told_lines(app, job):
            say(line, quiet=as_json)
        cap = (await app.database.read(budgets.of_job, job.id)).cap
        estimates.agree(app, said, cap, yes=yes, quiet=as_json)
    await control.start(app.database, job)
    return await _work(app, job.id, processes=processes, detach=detach, as_json=as_json)


async def resume_job(app: App, text: str, cap: Cap, *, processes: int | None, detach: bool, as_json: bool) -> int:
    job = await control.find_job(app.database, text)
    await control.resume(app.database, job, cap)
    return await _work(app, job.id, processes=processes, detach=detach, as_json=as_json)


async def retry_job(app: App, text: str, *, processes: int | None, detach: bool, as_json: bool) -> int:
    """Set a job going with what failed and what was still open; with nothing to try again it is only said so."""
    job = await control.find_job(app.database, text)
    before = await app.database.read(counters.progress, job.id)
    done = await control.retry_failed(app.database, job)
    progress = await app.database.read(counters.progress, job.id)
    unfinished = 0 if job.state is JobState.COMPLETED else before.sites_total - before.sites_finished
    lines = report.retried(done, progress, short(job.id), unfinished)
    if not done.sites and not done.pages:
        return await _answer(app, job.id, as_json, lines)
    for line in lines:
        say(line, quiet=as_json)
    return await _work(app, job.id, processes=processes, detach=detach, as_json=as_json)


async def resume_all(app: App, *, processes: int | None, detach: bool, as_json: bool) -> int:
    """Work every job that should be running; a pause somebody asked for is respected."""
    running = await app.database.read(jobs.in_states, JobState.RUNNING)
    code = 0
    if running:
        app.check()
        say("Going on with " + ", ".join(f"{job.name} ({short(job.id)})" for job in running), quiet=as_json)
        if detach:
            await run_in_background(app, processes)
            say("They run in the background. Look with 'gossamer job list'.", quiet=as_json)
        else:
            code = max([await _follow(app, job.id, processes=processes, as_json=as_json) for job in running])
    else:
        say("No job is waiting to go on. Paused ones are resumed by their id: see 'gossamer job list'.", quiet=as_json)
    if as_json:
        facts = [await _facts(app, job.id) for job in running]
        runner = await runner_of(app)
        say_json([report.as_json(job, progress, runner) for job, progress in facts])
    return code


async def pause_job(app: App, text: str, *, wait: bool = True, as_json: bool) -> int:
    """Ask for a pause and wait until it is one."""
    job = await control.find_job(app.database, text)
    await control.pause(app.database, job)
    now, busy = await _standing_still(app, job, "Pausing", wait=wait, as_json=as_json)
    progress = await app.database.read(counters.progress, job.id)
    if now.state is JobState.PAUSED:
        return await _answer(app, job.id, as_json, report.ending(now, progress))
    if now.state is JobState.PAUSING and not wait:
        paid = await app.database.read(reservations.under_way, job.id)
        return await _answer(app, job.id, as_json, [f"Pausing... {words.finishing(busy, paid)}"])
    if now.state is JobState.PAUSING:
        # Some visits are still marked as another home's, and that home is gone.
        return await _answer(app, job.id, as_json, report.left(now, progress, None))
    return await _answer(app, job.id, as_json, [f"The job is {now.state} by now."])


async def cancel_job(app: App, text: str, *, wait: bool = True, as_json: bool) -> int:
    """Cancel a job and wait until nobody has a hand in it any more."""
    job = await control.find_job(app.database, text)
    await control.cancel(app.database, job)
    now, busy = await _standing_still(app, job, "Cancelling", wait=wait, as_json=as_json)
    progress = await app.database.read(counters.progress, job.id)
    if now.state is not JobState.CANCELLED:
        return await _answer(app, job.id, as_json, [f"The job is {now.state} by now."])
    return await _answer(app, job.id, as_json, report.ending(now, progress, busy=busy))


async def _standing_still(app: App, job: Job, doing: str, *, wait: bool, as_json: bool) -> tuple[Job, int]:
    """The job once no visit of it is in anybody's hands, and how many still are: some, if that is not waited for.

    A pause is one only then, however long it takes. A cancelled job is cancelled: a minute is long enough for whoever
    lives to hand back, and what others have left behind is nobody's to wait for.
    """
    said = ""
    until = time.monotonic() + _LONGEST_CANCEL
    while True:
        now = await app.database.read(jobs.get, job.id) or job
        busy = await app.database.read(visits.busy_of_job, job.id)
        pausing = now.state is JobState.PAUSING
        if not pausing and (not busy or now.state is not JobState.CANCELLED):
            return now, busy
        if await runner_of(app) is None and app.lock.take():
            # Nobody works here, so there is nothing in flight to wait for.
            await control.settle_down(app.database, app.home_name)
            app.lock.release()
            now, _ = await _facts(app, job.id)
            return now, await app.database.read(visits.busy_of_job, job.id)
        if not wait or (not pausing and time.monotonic() > until):
            return now, busy
        paid = await app.database.read(reservations.under_way, job.id)
        sentence = f"{doing}... {words.finishing(busy, paid)}"
        if sentence != said:
            say(sentence, quiet=as_json)
            said = sentence
        await asyncio.sleep(0.25)


async def _work(app: App, job_id: UUID, *, processes: int | None, detach: bool, as_json: bool) -> int:
    app.check()
    if detach:
        await run_in_background(app, processes)
        watch = f"It runs in the background. Look with 'gossamer job status {short(job_id)}'."
        return await _answer(app, job_id, as_json, [watch])
    code = await _follow(app, job_id, processes=processes, as_json=as_json)
    await _answer(app, job_id, as_json, [])
    return code


async def _follow(app: App, job_id: UUID, *, processes: int | None, as_json: bool) -> int:
    """Work or watch a job to its end, and say how it ended."""
    job = await Follower(app, job_id, choose_screen(quiet=as_json), processes).follow()
    progress = await app.database.read(counters.progress, job_id)
    reasons = await app.database.read(sites.failure_reasons, job_id)
    spent = await costs.read_costs(app, job, progress)
    said = costs.ending_lines(spent) + await estimates.told_lines(app, job)
    read_with = methods.lines(spent.bill, tables.width())
    for line in report.ending(job, progress, reasons, costs=said, methods=read_with):
        say(line, quiet=as_json)
    return report.exit_code(job)


async def run_in_background(app: App, processes: int | None) -> None:
    """A runner that waits its turn if the home has one; none where a cluster works."""
    if await worked_by_cluster(app):
        return
    start_worker(app, "--runner", *(("--processes", str(processes)) if processes else ()))


async def _answer(app: App, job_id: UUID, as_json: bool, lines: list[str]) -> int:
    if as_json:
        job, progress = await _facts(app, job_id)
        said = estimates.as_json(await estimates.stored(app, job_id))
        say_json({**report.as_json(job, progress, await runner_of(app)), "estimate": said})
    else:
        for line in lines:
            say(line)
    return 0


async def _facts(app: App, job_id: UUID) -> tuple[Job, Progress]:
    job = await app.database.read(jobs.get, job_id)
    assert job is not None  # noqa: S101 - jobs are never removed while a command holds their id
    return job, await app.database.read(counters.progress, job_id)
