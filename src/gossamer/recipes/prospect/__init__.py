"""The `prospect` recipe: which pages of many sites mention a client's keywords, how, and whom they link to."""

from gossamer.recipes.base import AutomaticFile, Column, Given, Keep, Nouns, Recipe, RecordKind, SheetLooks
from gossamer.recipes.prospect.command import COMMAND, SCREEN
from gossamer.recipes.prospect.verdicts import COLOURS, FLAG_WORDS, WORDS

MATCH = RecordKind(
    "match",
    key=("url", "keyword"),
    # The columns always shown are those integrations were promised.
    columns=(
        Column("domain", sheet=SheetLooks(width=28)),
        Column("url", "url"),
        Column("keyword"),
        Column("frequency", "number"),
        Column("context_snippet", sheet=SheetLooks(width=70)),
        Column("crawl_method", sheet=SheetLooks(width=13)),
        Column("timestamp", "time"),
        Column("http_status", "number"),
        Column("verdict", shown="with-client", sheet=SheetLooks(width=21, words=WORDS, colours=COLOURS)),
        Column("link_url", "url", shown="with-client"),
        Column("anchor_text", shown="never"),
        Column("position", shown="with-client", sheet=SheetLooks(width=12)),
        # Computed from all rows of a site when they are read.
        Column("flags", shown="with-client", sheet=SheetLooks(words=FLAG_WORDS, separator=";")),
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
    tables="gossamer.recipes.prospect.tables:TABLES",
    survey="gossamer.recipes.prospect.survey:ProspectSurvey",
    command=COMMAND,
    screen=SCREEN,
    keep=Keep(),
    for_estimates={"keywords": ["any"]},
    files=(
        AutomaticFile("errors", "csv", "failed_domains.csv"),
        AutomaticFile("errors", "json", "failed_domains.json"),
    ),
)
