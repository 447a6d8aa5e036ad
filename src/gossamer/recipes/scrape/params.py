"""The parameters of a scrape job."""

from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, ValidationInfo, field_validator

from gossamer.model.fields import Strict
from gossamer.model.scrape import EXTRACT, FORMATS
from gossamer.recipes.common import FetchingParams, Patterns


def _known(formats: list[str]) -> list[str]:
    unknown = next((one for one in formats if one not in FORMATS), None)
    if unknown is not None:
        raise ValueError(f'there is no format "{unknown}", there are {", ".join(FORMATS)}')
    return list(dict.fromkeys(formats))


def _sound(rules: dict[str, Any]) -> dict[str, Any]:
    # Loaded only for jobs with rules, because it loads what reads pages.
    from gossamer.analyze.rules import read_rules

    read_rules(rules)
    return rules


Format = Annotated[str, Field(max_length=20)]


class WalkParams(Strict):
    """Limits of a job that crawls sites instead of only listed pages."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_pages: int = Field(default=500, ge=1, le=50_000, description="Of each site so many pages at most.")
    depth: int = Field(default=50, ge=0, le=1_000, description="Clicks from where it begins at most.")
    include: Patterns = Field(
        default_factory=list, description="Read only pages whose path and query match one of these, * for anything."
    )
    exclude: Patterns = Field(default_factory=list, description="Read no pages that match one of these.")


class ScrapeParams(FetchingParams):
    """Parameters of a scrape job besides its URLs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    formats: Annotated[list[Format], Field(min_length=1, max_length=20), AfterValidator(_known)] = Field(
        default_factory=lambda: ["markdown"],
        description=f"What is wanted of every page: {', '.join(FORMATS)}.",
    )
    extract: Annotated[dict[str, Any], AfterValidator(_sound)] | None = Field(
        default=None,
        validate_default=True,
        description="Fields to take out of every page, each by a CSS selector or an XPath expression.",
    )

    only_main_content: bool = Field(
        default=True,
        description="Whether Markdown is without menus, banners, footers and lists of other pages.",
    )

    walk: WalkParams | None = Field(
        default=None, description="Read the sites from where they begin on; nothing: exactly the pages that are listed."
    )

    result_file: bool = Field(
        default=False,
        description="When the job is over, put what came of its pages into a file for a day: a line of JSON for each.",
    )

    @field_validator("extract")
    @classmethod
    def _is_wanted(cls, rules: dict[str, Any] | None, info: ValidationInfo) -> dict[str, Any] | None:
        if rules is None and EXTRACT in info.data.get("formats", ()):
            raise ValueError("the format extract needs rules")
        return rules
