"""`gossamer toy run`, as data."""

from gossamer.recipes.base import Command, Option

COMMAND = Command(
    ("toy", "run"),
    "Find the shops of some areas.",
    (
        Option("--area", "areas", "An area to look at; repeat for more.", repeated=True),
        Option("--source", "source", "Address that is asked for the shops of an area."),
        Option("--compare-with", "compare_with", "An earlier job: its id, last or none.", default="last"),
        Option("--again", "again", "How many shops of the earlier job are asked for again.", int, 100),
    ),
)
