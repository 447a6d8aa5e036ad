"""The `prospect` recipe: which pages of many sites mention a client's keywords, how, and whom they link to."""

from gossamer.recipes.base import AutomaticFile, Column, Given, Keep, Nouns, Recipe, RecordKind
from gossamer.recipes.prospect.command import COMMAND

MATCH = RecordKind(
    "match",
    key=("url", "keyword"),
    # The columns always shown are those integrations were promised.
    columns=(
        Column("domain"),
        Column("url", "url"),
        Column("keyword"),
        Column("frequency", "number"),
        Column("context_snippet"),
        Column("crawl_method"),
        Column("timestamp", "time"),
        Column("http_status", "number"),
        Column("verdict", shown="with-client"),
        Column("link_url", "url", shown="with-client"),
        Column("anchor_text", shown="never"),
        Column("position", shown="with-client"),
        # Computed from all rows of a site when they are read.
        Column("flags", shown="with-client"),
        Column("keyword_pages", "number", shown="never"),
        Column("site_pages", "number", shown="never"),
    ),
)

PROSPECT = Recipe(
    name="prospect",
    params="gossamer.recipes.prospect.params:ProspectParams",
    bind="gossamer.recipes.prospect.harvest:BoundProspect",
    given=Given.SITES,
    nouns=Nouns("domain", "match"),
    kinds=(MATCH,),
    command=COMMAND,
    keep=Keep(),
    files=(
        AutomaticFile("errors", "csv", "failed_domains.csv"),
        AutomaticFile("errors", "json", "failed_domains.json"),
    ),
)
