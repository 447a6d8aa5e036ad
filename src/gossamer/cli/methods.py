"""What pages were read with, said wherever a job is summed up. A job with one way to fetch is not asked."""

from collections.abc import Mapping
from typing import Any

from gossamer.assembly import App
from gossamer.cli import words
from gossamer.model.job import Job
from gossamer.model.sentences import rendering_sentence
from gossamer.store import methods

_TOLD = 5  # domains


async def lines(app: App, job: Job) -> list[str]:
    """How many pages which rung got, and of which domains a browser was needed."""
    if not job.params.get("ladder"):
        return []
    by_rung = await app.database.read(methods.by_rung, job.id)
    if not by_rung:
        return []
    counted = ", ".join(f"{words.several(pages, 'page')} with {rung}" for rung, pages in by_rung.items())
    found = await app.database.read(methods.rendered, job.id, _TOLD + 1)
    told = [f"  {rendering_sentence(one.host, one.rendered, one.read)}" for one in found[:_TOLD]]
    more = ["  and more domains"] if len(found) > _TOLD else []
    return [f"Read: {counted}", *told, *more]


async def as_json(app: App, job: Job) -> Mapping[str, Any]:
    """By rung; nothing where there is only one."""
    return await app.database.read(methods.by_rung, job.id) if job.params.get("ladder") else {}
