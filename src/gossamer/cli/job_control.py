"""`gossamer job start`, `pause`, `resume` and others: change a job and follow it."""

import asyncio
import time
from dataclasses import replace
from uuid import UUID

from gossamer.cli import costs, estimates, formatting, report, tables
from gossamer.cli.home import Home
from gossamer.cli.runtime import say, say_json
from gossamer.cli.screen import choose_screen
from gossamer.intake.targets import TargetList
from gossamer.model.ids import short
from gossamer.model.job import JobRequest
from gossamer.model.money import Cap
from gossamer.model.states import JobState
from gossamer.questions import jobs
from gossamer.questions.jobs import Standing, ended
from gossamer.questions.submitting import house_rules
from gossamer.recipes.base import Given
from gossamer.recipes.registry import RECIPES

_LONGEST_CANCEL = 60.0  # seconds


async def submit(home: Home, request: JobRequest, *, processes: int | None, detach: bool, as_json: bool) -> int:
    """Create the job, then run or watch it."""
    submitted = await home.submit(request)
    job = submitted.job
    created = "created" if submitted.is_new else "was created before with this key"
    say(f"Job {job.id} (short: {short(job.id)}) {created}", quiet=as_json)
    now = await home.ask(jobs.standing, str(job.id))
    hint = report.next_step(job, now.runner, now.progress)
    if not submitted.is_new and (job.state is not JobState.RUNNING or not request.start):
        return await _answer(home, job.id, as_json, [f"It is {job.state}. {hint}".rstrip()])
    if not request.start:
        return await _answer(home, job.id, as_json, [hint])
    return await _work(home, job.id, processes=processes, detach=detach, as_json=as_json)


async def rerun_job(
    home: Home,
    text: str,
    name: str,
    *,
    start: bool,
    processes: int | None,
    detach: bool,
    as_json: bool,
    yes: bool = False,
) -> int:
    """Estimate, create and run a new job like an existing one."""
    home.check()
    house = await home.ask(house_rules)
    former = await home.ask(jobs.find, text)
    request = await home.ask(jobs.again, str(former.id), name)
    count = formatting.plural(len(request.targets), "site")
    say(f"Running {former.name} ({short(former.id)}) again as {request.name}: {count}.", quiet=as_json)
    said = None
    recipe = RECIPES.get(request.recipe)
    if recipe and recipe.given is not Given.PAGES:
        targets = TargetList(request.targets, len(request.targets), 0)
        found = await estimates.forecast(
            home, estimates.walk_options(recipe, request.params), targets, None, quiet=as_json
        )
        said = estimates.print_forecast(found, request.params, request.cap, quiet=as_json)
        if start:
            estimates.confirm_cost(house, said, request.cap, yes=yes, quiet=as_json)
    request = replace(request, start=start, estimate=said, usual_credits=house.max_credits)
    return await submit(home, request, processes=processes, detach=detach, as_json=as_json)


async def rename_job(home: Home, text: str, name: str, *, as_json: bool) -> int:
    job = await home.ask(jobs.find, text)
    await home.rename(job, name)
    now = await home.ask(jobs.find, str(job.id))
    return await _answer(home, job.id, as_json, [f"Job {short(job.id)} is called {now.name} now."])


async def start_job(
    home: Home, text: str, *, processes: int | None, detach: bool, as_json: bool, yes: bool = False
) -> int:
    job = await home.ask(jobs.find, text)
    if job.state is JobState.PENDING:
        found = await home.ask(ended, str(job.id))
        for line in estimates.estimate_lines(found):
            say(line, quiet=as_json)
        house = await home.ask(house_rules)
        estimates.confirm_cost(house, found.estimate, found.costs.budget.cap, yes=yes, quiet=as_json)
    await home.start(job)
    return await _work(home, job.id, processes=processes, detach=detach, as_json=as_json)


async def resume_job(home: Home, text: str, cap: Cap, *, processes: int | None, detach: bool, as_json: bool) -> int:
    job = await home.ask(jobs.find, text)
    await home.resume(job, cap)
    return await _work(home, job.id, processes=processes, detach=detach, as_json=as_json)


async def retry_job(home: Home, text: str, *, processes: int | None, detach: bool, as_json: bool) -> int:
    """Run a job again with what failed and what was still open; if there is nothing to retry, only say so."""
    now = await home.ask(jobs.standing, text)
    job, before = now.job, now.progress
    done = await home.retry_failed(job)
    progress = (await home.ask(jobs.standing, str(job.id))).progress
    unfinished = 0 if job.state is JobState.COMPLETED else before.sites_total - before.sites_finished
    lines = report.retry_lines(done, progress, short(job.id), unfinished)
    if not done.sites and not done.pages:
        return await _answer(home, job.id, as_json, lines)
    for line in lines:
        say(line, quiet=as_json)
    return await _work(home, job.id, processes=processes, detach=detach, as_json=as_json)


async def resume_all(home: Home, *, processes: int | None, detach: bool, as_json: bool) -> int:
    """Run every job that should be running; paused jobs stay paused."""
    running = await home.ask(jobs.running)
    code = 0
    if running:
        home.check()
        say("Resuming " + ", ".join(f"{job.name} ({short(job.id)})" for job in running), quiet=as_json)
        if detach:
            await home.let_work(processes)
            say("They run in the background. Look with 'gossamer job list'.", quiet=as_json)
        else:
            code = max([await _follow(home, job.id, processes=processes, as_json=as_json) for job in running])
    else:
        say("Nothing to resume. Resume a paused job by its id: see 'gossamer job list'.", quiet=as_json)
    if as_json:
        found = [await home.ask(jobs.standing, str(job.id)) for job in running]
        say_json([report.as_json(now.job, now.progress, _runner(now, begun=detach)) for now in found])
    return code


async def pause_job(home: Home, text: str, *, wait: bool = True, as_json: bool) -> int:
    """Ask for a pause and wait until the job is paused."""
    job = await home.ask(jobs.find, text)
    await home.pause(job)
    now = await _wait_until_idle(home, job.id, "Pausing", wait=wait, as_json=as_json)
    state = now.job.state
    if state is JobState.PAUSED:
        return await _answer(home, job.id, as_json, report.ending_lines(now.job, now.progress))
    if state is JobState.PAUSING and not wait:
        return await _answer(home, job.id, as_json, [f"Pausing... {formatting.work_in_progress(now.busy, now.paid)}"])
    if state is JobState.PAUSING:
        # Visits are still marked as held by another home, which is gone.
        return await _answer(home, job.id, as_json, report.unfinished_lines(now.job, now.progress, None))
    return await _answer(home, job.id, as_json, [f"The job is {state} by now."])


async def cancel_job(home: Home, text: str, *, wait: bool = True, as_json: bool) -> int:
    """Cancel a job and wait until no worker holds a visit of it."""
    job = await home.ask(jobs.find, text)
    await home.cancel(job)
    now = await _wait_until_idle(home, job.id, "Cancelling", wait=wait, as_json=as_json)
    if now.job.state is not JobState.CANCELLED:
        return await _answer(home, job.id, as_json, [f"The job is {now.job.state} by now."])
    return await _answer(home, job.id, as_json, report.ending_lines(now.job, now.progress, busy=now.busy))


async def _wait_until_idle(home: Home, job_id: UUID, doing: str, *, wait: bool, as_json: bool) -> Standing:
    """Wait until no worker holds a visit of the job, and return it.

    A pause is waited for as long as it takes. A cancelled job is waited for one minute: live workers hand their visits
    back by then, and those of dead ones need not be waited for.
    """
    said = ""
    until = time.monotonic() + _LONGEST_CANCEL
    while True:
        now = await home.ask(jobs.standing, str(job_id))
        pausing = now.job.state is JobState.PAUSING
        if not pausing and (not now.busy or now.job.state is not JobState.CANCELLED):
            return now
        if now.runner is None and await home.let_rest():
            return await home.ask(jobs.standing, str(job_id))
        if not wait or (not pausing and time.monotonic() > until):
            return now
        sentence = f"{doing}... {formatting.work_in_progress(now.busy, now.paid)}"
        if sentence != said:
            say(sentence, quiet=as_json)
            said = sentence
        await asyncio.sleep(home.pace)


async def _work(home: Home, job_id: UUID, *, processes: int | None, detach: bool, as_json: bool) -> int:
    home.check()
    if detach:
        await home.let_work(processes)
        watch = f"It runs in the background. Look with 'gossamer job status {short(job_id)}'."
        return await _answer(home, job_id, as_json, [watch], begun=True)
    code = await _follow(home, job_id, processes=processes, as_json=as_json)
    await _answer(home, job_id, as_json, [])
    return code


async def _follow(home: Home, job_id: UUID, *, processes: int | None, as_json: bool) -> int:
    """Run or watch a job to its end, and print how it ended."""
    job = await home.follow(job_id, choose_screen(quiet=as_json), processes)
    found = await home.ask(ended, str(job_id))
    said = costs.ending_lines(found.costs) + estimates.estimate_lines(found)
    read_with = costs.method_lines(found.costs.bill, tables.width())
    for line in report.ending_lines(job, found.progress, found.reasons, costs=said, methods=read_with):
        say(line, quiet=as_json)
    return report.exit_code(job)


def _runner(now: Standing, *, begun: bool) -> int | None:
    return 0 if begun and now.runner is None else now.runner


async def _answer(home: Home, job_id: UUID, as_json: bool, lines: list[str], *, begun: bool = False) -> int:
    """Print the job or the lines. With `begun`, a worker has been started that may not be there yet."""
    if as_json:
        now, found = await home.ask(jobs.standing, str(job_id)), await home.ask(ended, str(job_id))
        job_json = report.as_json(now.job, now.progress, _runner(now, begun=begun))
        say_json({**job_json, "estimate": estimates.as_json(found.estimate)})
    else:
        for line in lines:
            say(line)
    return 0
