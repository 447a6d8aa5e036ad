"""`gossamer job status`: how a job stands, what it was asked for, and what else there is to know."""

import shlex
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from pydantic import BaseModel

from gossamer.assembly import App
from gossamer.cli import costs, estimates, methods, report, tables, words
from gossamer.cli.at_work import runner_of
from gossamer.cli.audit import checkpoint_line
from gossamer.cli.session import say, say_json
from gossamer.intake.control import find_job
from gossamer.model.alert import Alert
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.ladders import Mode
from gossamer.model.states import OVER, JobState, SiteState
from gossamer.retain.retainer import Outlook, look_ahead
from gossamer.store import alerts, checkpoints, counters, retention, sites

_FAILED_SHOWN = 1000  # failed domains in a JSON status
_FAILED_TOLD = 10  # and in one for people


async def show_status(app: App, text: str, *, as_json: bool) -> int:
    job = await find_job(app.database, text)
    now = app.clock.now()
    progress = await app.database.read(counters.progress, job.id)
    failed = await app.database.read(sites.summaries, job.id, SiteState.FAILED, limit=_FAILED_SHOWN)
    fired = await app.database.read(alerts.of_job, job.id)
    checkpoint = await app.database.read(checkpoints.last, job.id)
    spent = await costs.read_costs(app, job, progress)
    runner, outlook = await runner_of(app), await _outlook(app, job, now)
    if as_json:
        say_json({
            **report.as_json(job, progress, runner),
            "cost": costs.as_json(spent),
            "estimate": estimates.as_json(await estimates.stored(app, job.id)),
            "params": dict(job.params),
            "pages_by_method": methods.as_json(spent.bill),
            "results_until": words.stamp(outlook.deletes_at) if outlook else None,
            "alerts": [{"kind": str(alert.kind), "sentence": alert.sentence} for alert in fired],
            "failed_domains": report.failures_json(failed),
        })  # fmt: skip
        return 0
    besides = [
        *costs.status_lines(spent),
        *await estimates.told_lines(app, job),
        *_wanted(app, job),
        *methods.lines(spent.bill, tables.width()),
        checkpoint_line(checkpoint, now),
        *_kept(outlook),
        *_alerts(job, fired),
    ]
    for line in report.status_lines(job, progress, runner, now, besides):
        say(line)
    for line in report.failure_lines(failed[:_FAILED_TOLD], progress.sites_failed, short(job.id)):
        say(line)
    return 0


def _wanted(app: App, job: Job) -> Iterator[str]:
    recipe = app.recipes.get(job.recipe)
    if recipe:
        return asked_for(job.params, recipe.params)
    return iter([f"Recipe: {job.recipe}, which this program does not know. Go on with the program that created it."])


def asked_for(params: Mapping[str, Any], kind: type[BaseModel]) -> Iterator[str]:
    """What is looked for, and the options that are not as they usually are."""
    client = ", ".join(params.get("client_domains", ()))
    wanted = words.several(len(params.get("keywords", ())), "keyword")
    if "formats" in params:
        fields = f" ({words.several(len(params['extract']), 'field')})" if params.get("extract") else ""
        yield f"Wants: {', '.join(params['formats'])}{fields}"
    else:
        yield f"Looks for: {wanted}" + (f", links to {client}" if client else "")
    options: list[str] = []
    for name, field in kind.model_fields.items():
        value = params.get(name)
        if (
            name in ("keywords", "client_domains", "mode", "ladder", "formats", "extract")
            or value is None
            or value == field.get_default(call_default_factory=True)
        ):
            continue
        option = "--" + name.replace("_", "-").removesuffix("s" if name.endswith("domains") else "")
        for one in value if isinstance(value, list) else [value]:
            options += [option, shlex.quote(str(one))]
    if options:
        yield f"With: {' '.join(options)}"
    if ladder := params.get("ladder"):
        mode = "" if params["mode"] == Mode.OWN else f" ({params['mode']})"
        yield f"Fetches with: {', then '.join(ladder)}{mode}"


async def _outlook(app: App, job: Job, now: datetime) -> Outlook | None:
    """What is to become of its results; None while it may find more."""
    if job.state not in OVER:
        return None
    kept = await app.database.read(retention.kept_job, job.id)
    return look_ahead(kept, app.terms, now) if kept else None


def _kept(outlook: Outlook | None) -> Iterator[str]:
    if outlook is None:
        return
    if outlook.job.state is JobState.ARCHIVED:
        yield "Results: deleted"
    elif outlook.job.hidden_at:
        yield f"Results: hidden, and deleted on {words.day(outlook.deletes_at)}"
    else:
        yield f"Results: kept until {words.day(outlook.hides_at)}, deleted on {words.day(outlook.deletes_at)}"


def _alerts(job: Job, fired: list[Alert]) -> Iterator[str]:
    """What the status line does not say already."""
    return (f"Alert: {alert.sentence}" for alert in fired if alert.sentence != job.reason)
