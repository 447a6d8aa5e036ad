"""A recipe from outside, whole: shops by area, asked of a source, visited, merged, compared with the job before.

CONTRIBUTING.md is about this folder. It enters by GOSSAMER_PLUGINS=tests.toy_recipe:TOY and uses every seam of the
engine: a JSON source asked twice at one address, sites it opens, facts that are carried, steps with policies of their
own, a last call and a conclusion.
"""

from gossamer.recipes.base import AutomaticFile, Column, Given, Keep, Nouns, Recipe, RecordKind
from tests.toy_recipe.command import COMMAND, SCREEN

SIGHTING = RecordKind(
    "sighting",
    key=("url",),
    columns=(Column("url", "url"), Column("name"), Column("area"), Column("price", "number")),
)
SHOP = RecordKind(
    "shop",
    key=("name", "areas"),
    columns=(
        Column("name"),
        Column("areas"),
        Column("price", "number"),
        Column("pages", "number"),
        Column("change"),
        Column("price_before", "number"),
    ),
    concluded=True,
)

TOY = Recipe(
    name="toy",
    params="tests.toy_recipe.params:ToyParams",
    bind="tests.toy_recipe.harvest:BoundToy",
    given=Given.NOTHING,
    nouns=Nouns("area", "shop"),
    kinds=(SIGHTING, SHOP),
    tables="tests.toy_recipe.tables:TABLES",
    survey="tests.toy_recipe.survey:ToySurvey",
    command=COMMAND,
    screen=SCREEN,
    keep=Keep(days=30),
    files=(AutomaticFile("shops", "csv", "shops-{job}.csv"),),
    concludes=True,
)
