"""The parameters of a prospecting job."""

from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field, ValidationInfo, field_validator

from gossamer.analyze.keywords import clean_keyword, fold_keyword
from gossamer.analyze.snippets import REACH
from gossamer.intake.domain import BadEntry, clean, read_domain
from gossamer.model.record import without_controls
from gossamer.model.url import site_of
from gossamer.recipes.common import FetchingParams, Patterns, each_once


def _named(keyword: str) -> str:
    cleaned = clean_keyword(keyword)
    if not cleaned:
        raise ValueError("a keyword must not be blank")
    if without_controls(cleaned) != cleaned:
        raise ValueError("a keyword must not contain control characters")
    return cleaned


def _site_named(text: str) -> str:
    """A domain as a list of domains would have it: `https://www.Acme.com/` is acme.com."""
    domain = read_domain(clean(text))
    if isinstance(domain, BadEntry):
        raise ValueError(f'"{text}" is not a domain: it {domain.why}')
    return site_of(domain.host)


Keyword = Annotated[str, Field(max_length=200), AfterValidator(_named)]

Domain = Annotated[str, Field(max_length=2_000), AfterValidator(_site_named)]
Domains = Annotated[list[Domain], Field(max_length=50), AfterValidator(each_once)]


class ProspectParams(FetchingParams):
    """Parameters of a prospecting job besides its domains."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # Before the keywords, which are told apart by it.
    case_sensitive: bool = Field(default=False, description="Whether capitals count: IT is not it.")
    keywords: Annotated[list[Keyword], Field(min_length=1, max_length=500, fail_fast=True)] = Field(
        description="Words and phrases to look for, whole words, in any case unless `case_sensitive`."
    )
    plurals: bool = Field(
        default=False,
        description="Whether plurals of a keyword count as it, and its singular if it is one, by English rules.",
    )
    snippet: int = Field(
        default=REACH, ge=0, le=REACH, description="Characters shown before and after a mention, at most."
    )
    client_domains: Domains = Field(
        default_factory=list, description="Whose links are looked for: with none, rows have no verdict."
    )
    competitor_domains: Domains = Field(
        default_factory=list, description="Links to these say that a page links elsewhere."
    )
    max_pages_per_domain: int = Field(
        default=500, ge=1, le=50_000, description="A domain of up to so many pages is read whole."
    )
    top_pages: int = Field(default=50, ge=1, le=50_000, description="Of a larger one so many pages are read.")
    depth: int = Field(default=50, ge=0, le=1_000, description="Clicks from the homepage at most.")
    include: Patterns = Field(
        default_factory=list, description="Read only pages whose path and query match one of these, * for anything."
    )
    exclude: Patterns = Field(default_factory=list, description="Read no pages that match one of these.")

    lines_skipped: int = Field(
        default=0,
        ge=0,
        le=1_000_000_000,
        description="Lines of the given lists that were left out as invalid; shown in summary and audit.",
    )

    @field_validator("keywords")
    @classmethod
    def _distinct(cls, keywords: list[str], info: ValidationInfo) -> list[str]:
        """Spellings that match the same words are one keyword: the first of them."""
        case_sensitive = bool(info.data.get("case_sensitive"))
        spellings: dict[str, str] = {}
        for keyword in keywords:
            spellings.setdefault(fold_keyword(keyword, case_sensitive=case_sensitive), keyword)
        return list(spellings.values())

    @field_validator("competitor_domains")
    @classmethod
    def _has_a_client(cls, competitors: list[str], info: ValidationInfo) -> list[str]:
        if competitors and not info.data.get("client_domains"):
            raise ValueError("without a client's domain there is nothing to compare competitors with")
        return competitors
