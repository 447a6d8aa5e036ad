"""Limits on the size of a request."""

from typing import Annotated

from pydantic import Field

Few = Annotated[int, Field(ge=1, le=10_000)]
Many = Annotated[int, Field(ge=1, le=50_000)]
Place = Annotated[int, Field(ge=1, le=1_000_000)]  # the number of a page
Text = Annotated[str, Field(max_length=2_000, pattern=r"^[^\x00]*$")]  # what a database can look for
