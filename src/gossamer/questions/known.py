"""The recipe of a job, for questions that cannot do without: a home may hold jobs of a program that knew more."""

from collections.abc import Mapping

from pydantic import ValidationError

from gossamer.errors import UserError
from gossamer.model.fields import sentence_of
from gossamer.model.ids import short
from gossamer.model.job import CrawlPolicy, Job
from gossamer.recipes.base import Recipe

_HINT = "Use the program that created it. 'gossamer job status', 'pages', 'history' and 'audit' work here too."


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
            "job.unusable", f"The parameters of job {short(job.id)} mean nothing to this program ({what}).", hint=_HINT
        ) from error
