"""The `scrape` recipe: single pages as text, markdown, links, metadata, structured data and extracted fields."""

from gossamer.model.export import RESULT
from gossamer.recipes.base import AutomaticFile, Column, Given, Keep, Nouns, Recipe, RecordKind
from gossamer.recipes.scrape.command import COMMAND, SCREEN

PAGE = RecordKind(
    "page",
    key=("url",),
    columns=(
        Column("url", "url"),
        Column("final_url", "url"),
        Column("http_status", "number"),
        Column("crawl_method"),
        Column("timestamp", "time"),
        Column("content_type"),
        Column("bytes", "number"),
        Column("title"),
        Column("language"),
        Column("text"),
        Column("markdown"),
        Column("links", "value"),
        Column("metadata", "value"),
        Column("structured", "value"),
        Column("extract", "value"),
        Column("files", "value", shown="never"),
    ),
    watch=("title", "text", "markdown", "extract"),
)

SCRAPE = Recipe(
    name="scrape",
    params="gossamer.recipes.scrape.params:ScrapeParams",
    bind="gossamer.recipes.scrape.harvest:BoundScrape",
    given=Given.PAGES,
    nouns=Nouns("page", "result"),
    kinds=(PAGE,),
    tables="gossamer.recipes.scrape.tables:TABLES",
    command=COMMAND,
    screen=SCREEN,
    keep=Keep(days=30, whole_job=True),
    # Single pages may be thousands of jobs a day: only those whose results were not waited for have a file.
    files=(AutomaticFile(RESULT, "jsonl", RESULT + "-{job}.jsonl", if_param="result_file"),),
)
