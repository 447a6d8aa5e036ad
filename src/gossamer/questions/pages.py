"""The question what came of single addresses of a job that was given pages."""

from typing import Annotated, Any

from pydantic import Field

from gossamer.questions.limits import Text
from gossamer.questions.view import View
from gossamer.recipes.page_results import as_object, kind_of, read_results, with_files

Addresses = Annotated[list[Annotated[str, Field(max_length=8_000)]], Field(max_length=200)]


async def scraped(view: View, job: Text, urls: Addresses) -> list[dict[str, Any]]:
    """In the order of the addresses, each as JSON has it, with what is in files."""
    found, database = await view.job(job)
    files = view.page_files()
    some = await read_results(database, found.id, kind_of(found.recipe), urls)
    return [as_object(await with_files(files, found.id, page)) for page in some]
