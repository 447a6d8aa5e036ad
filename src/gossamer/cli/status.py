"""`gossamer job status`: how a job stands, what it was asked for, and what else there is to know."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from gossamer.cli import costs, estimates, methods, report, tables, words
from gossamer.cli.audit import checkpoint_line
from gossamer.cli.home import Home
from gossamer.cli.session import say, say_json
from gossamer.model.alert import Alert
from gossamer.model.ids import short
from gossamer.model.job import Job
from gossamer.model.ladders import Mode
from gossamer.model.states import JobState
from gossamer.questions.status import status
from gossamer.recipes.registry import RECIPES
from gossamer.retain.retainer import Outlook

_FAILED_TOLD = 10  # failed domains, to people


async def show_status(home: Home, text: str, *, as_json: bool) -> int:
    found = await home.ask(status, text)
    job, progress, spent = found.ended.job, found.ended.progress, found.ended.costs
    if as_json:
        say_json({
            **report.as_json(job, progress, found.runner),
            "cost": costs.as_json(spent),
            "estimate": estimates.as_json(found.ended.estimate),
            "params": dict(job.params),
            "pages_by_method": methods.as_json(spent.bill),
            "results_until": words.stamp(found.outlook.deletes_at) if found.outlook else None,
            "alerts": [{"kind": str(alert.kind), "sentence": alert.sentence} for alert in found.alerts],
            "failed_domains": report.failures_json(found.failed),
        })  # fmt: skip
        return 0
    besides = [
        *costs.status_lines(spent),
        *estimates.told_lines(found.ended),
        *_wanted(job),
        *methods.lines(spent.bill, tables.width()),
        checkpoint_line(found.checkpoint, found.now),
        *_kept(found.outlook),
        *_alerts(job, found.alerts),
    ]
    for line in report.status_lines(job, progress, found.runner, found.now, besides):
        say(line)
    for line in report.failure_lines(found.failed[:_FAILED_TOLD], progress.sites_failed, short(job.id)):
        say(line)
    return 0


def _wanted(job: Job) -> Iterator[str]:
    recipe = RECIPES.get(job.recipe)
    if recipe:
        return asked_for(job.params, recipe.params, job.at_once)
    return iter([f"Recipe: {job.recipe}, which this program does not know. Go on with the program that created it."])


_OFF = {"only_main_content": "--whole-page"}  # options that turn something off


def asked_for(params: Mapping[str, Any], kind: type[BaseModel], at_once: int | None = None) -> Iterator[str]:
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
            name in ("keywords", "client_domains", "mode", "ladder", "formats", "extract", "lines_skipped")
            or value is None
            or value == field.get_default(call_default_factory=True)
        ):
            continue
        option = "--" + name.replace("_", "-").removesuffix("s" if name.endswith("domains") else "")
        if isinstance(value, bool):
            options.append(option if value else _OFF.get(name, option))
            continue
        for one in value if isinstance(value, list) else [value]:
            options += [option, shlex.quote(str(one))]
    if at_once is not None:
        options += ["--max-concurrency", str(at_once)]
    if options:
        yield f"With: {' '.join(options)}"
    if ladder := params.get("ladder"):
        mode = "" if params["mode"] == Mode.OWN else f" ({params['mode']})"
        yield f"Fetches with: {', then '.join(ladder)}{mode}"


def _kept(outlook: Outlook | None) -> Iterator[str]:
    if outlook is None:
        return
    if outlook.job.state is JobState.ARCHIVED:
        yield "Retention: results deleted"
    elif outlook.job.hidden_at:
        yield f"Retention: results hidden, and deleted on {words.day(outlook.deletes_at)}"
    else:
        yield f"Retention: results kept until {words.day(outlook.hides_at)}, deleted on {words.day(outlook.deletes_at)}"


def _alerts(job: Job, fired: Sequence[Alert]) -> Iterator[str]:
    """What the status line does not say already."""
    said = (alert.sentence for alert in fired if alert.sentence != job.reason)
    return (sentence if sentence.startswith(("Alert:", "Warning:")) else f"Alert: {sentence}" for sentence in said)
