"""What a toy job is told."""

from pydantic import Field

from gossamer.recipes.common import FetchingParams


class ToyParams(FetchingParams):
    source: str = Field(description="Address that is asked for the shops of an area.")
    areas: list[str] = Field(min_length=1, description="The areas to look at.")
    credential: str = Field(default="", description="The name of the secret that the source wants to see.")
    compare_with: str = Field(default="last", description="An earlier job: its id, last or none.")
    again: int = Field(default=100, ge=0, description="How many shops of the earlier job are asked for again.")
    batch: int = Field(default=500, ge=1, description="Shops in one step of the conclusion.")
    pause: float = Field(default=0, ge=0, description="Seconds that each step takes, for tests.")
