"""From a request to rows: everything is written in one transaction, or nothing is."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from gossamer.errors import UserError
from gossamer.model.job import Job, JobRequest, Target
from gossamer.model.record import Follow
from gossamer.model.states import JobState
from gossamer.model.url import site_of_url
from gossamer.recipe import Recipe
from gossamer.store import jobs, sites
from gossamer.store.database import Database
from gossamer.store.tx import Tx

LONGEST_NAME = 200


async def submit(database: Database, recipes: Mapping[str, Recipe[Any]], request: JobRequest) -> Job:
    """Check the request against its recipe and create the job with its sites, running unless asked to wait."""
    name = check_name(request.name)
    recipe = recipes[request.recipe]
    try:
        params = recipe.params.model_validate(request.params)
    except ValidationError as error:
        first = error.errors()[0]
        # As the command line calls it: `--client-domain` for the first of `client_domains`.
        where = "--" + str(first["loc"][0]).removesuffix("s" if len(first["loc"]) > 1 else "").replace("_", "-")
        what = str(first["msg"]).removeprefix("Value error, ")
        raise UserError("job.params", f"{where}: {what}.", hint="See 'gossamer job run --help'.") from error
    targets = _with_seeds(request.targets, recipe.bind(params).seeds())
    return await database.write(_create, name, replace(request, targets=targets), params.model_dump(mode="json"))


def check_name(given: str) -> str:
    """The name as it is kept, or a UserError."""
    name = " ".join(given.split())
    if not name or len(name) > LONGEST_NAME:
        raise UserError(
            "job.name",
            f"A job's name has 1 to {LONGEST_NAME} characters, this one has {len(name)}.",
            hint="Give it one with --name.",
        )
    return name


def _with_seeds(targets: tuple[Target, ...], seeds: Iterable[Follow]) -> tuple[Target, ...]:
    """The sites a person listed and those the recipe's parameters name, each once."""
    sites = {target.host: target for target in targets}
    for seed in seeds:
        host = site_of_url(seed.url)
        known = sites.get(host, Target(host, (), seed.url))
        sites[host] = replace(known, entries=(*known.entries, seed.url))
    return tuple(sites.values())


def _create(tx: Tx, name: str, request: JobRequest, params: Mapping[str, Any]) -> Job:
    job = jobs.create(tx, name, request.recipe, params, len(request.targets))
    sites.create_many(tx, job.id, request.targets)
    if request.start:
        jobs.move(tx, job.id, JobState.RUNNING, who="submit")
    created = jobs.get(tx, job.id)
    assert created is not None  # noqa: S101 - written three lines above
    return created
