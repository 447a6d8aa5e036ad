"""What is typed of toy jobs, and what a terminal shows of them, as data."""

from gossamer.errors import UserError
from gossamer.model.job import Job
from gossamer.recipes.base import Command, Condition, Option, Screen, ScreenColumn

COMMAND = Command(
    ("toy", "run"),
    "Find the shops of some areas.",
    (
        Option("--area", "An area to look at; repeat for more.", "areas", metavar="NAME", repeated=True),
        Option("--source", "Address that is asked for the shops of an area.", "source", metavar="URL"),
        Option("--credential", "The name of the secret that the source wants to see.", "credential", metavar="NAME"),
        Option("--compare-with", "An earlier job: its id, last or none.", "compare_with", default="last"),
        Option("--again", "How many shops of the earlier job are asked for again.", "again", int, 100, least=0),
    ),
)

_CHANGES = ("new", "same", "changed", "gone")


def _change(job: Job, text: str) -> str:
    if text not in _CHANGES:
        raise UserError("toy.change", f"{text!r} is no change.", hint=f"Use one of {', '.join(_CHANGES)}.")
    return text


SCREEN = Screen(
    columns=(
        ScreenColumn("Shop", ("name",), 40, 8),
        ScreenColumn("Areas", ("areas",), 40, 6),
        ScreenColumn("Price", ("price",), 8, 5, right=True, counted=True),
    ),
    conditions=(Condition("change", "Only shops with this change.", _change, "|".join(_CHANGES)),),
)
