"""ScrapingBee's parameters: translates a query into a page request, or refuses it with a reason."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal

import orjson
from pydantic import ConfigDict, Field

from gossamer.api.scrape import Wanted
from gossamer.errors import UserError
from gossamer.model.fields import Strict
from gossamer.model.rungs import DIRECT, RUNGS

_MOST_TIME = 140_000
_STEALTH = ("stealth", "scrapingbee-stealth", "scraperapi-ultra-js", "scraperapi-ultra")
_DEAR = ("premium", "ultra", "stealth")


class BeeQuery(Strict):
    """As they name them. What changes the page and cannot be done here is refused, what is only a hint is not."""

    model_config = ConfigDict(extra="forbid")

    url: str = Field(min_length=1, max_length=8_000)
    api_key: str = Field("", max_length=200, description="A key of this server; better as 'Authorization: Bearer'.")
    render_js: bool | None = Field(None, description="true, false, or what the page needs if it is not given.")
    mode: Literal["auto"] | None = None
    max_cost: int | None = Field(None, ge=0, le=10**6, description="Provider credits that it may cost at most.")
    premium_proxy: bool = False
    stealth_proxy: bool = False
    json_response: bool = False
    return_page_source: bool = False
    return_page_markdown: bool = False
    return_page_text: bool = False
    screenshot: bool = False
    screenshot_full_page: bool = False
    extract_rules: str = Field("", max_length=20_000, description="JSON.")
    transparent_status_code: bool = False
    timeout: int = Field(_MOST_TIME, ge=1_000, le=_MOST_TIME, description="Milliseconds to wait for the page.")
    tag: str = Field("", max_length=200)
    # Hints, taken and without effect.
    block_ads: bool = False
    block_resources: bool = True
    session_id: int | None = Field(None, ge=0, le=10_000_000)
    wait: int = Field(0, ge=0, le=35_000)
    wait_browser: str = Field("", max_length=40)
    window_width: int | None = None
    window_height: int | None = None
    # Refused unless they say what is so anyway.
    ai_extract_rules: str = ""
    ai_query: str = ""
    ai_selector: str = ""
    cookies: str = ""
    country_code: str = ""
    custom_google: bool = False
    device: str = "desktop"
    forward_headers: bool = False
    forward_headers_pure: bool = False
    js_scenario: str = ""
    js_snippet: str = ""
    own_proxy: str = ""
    scraping_config: str = ""
    screenshot_selector: str = ""
    wait_for: str = ""


_REFUSED = tuple(BeeQuery.model_fields)[tuple(BeeQuery.model_fields).index("ai_extract_rules") :]


def wanted_of(query: BeeQuery, here: Collection[str]) -> Wanted:
    """Return the request that the query describes. `here` are the rungs configured here."""
    for name in _REFUSED:
        if getattr(query, name) != BeeQuery.model_fields[name].default:
            raise UserError(
                "dialect.parameter", f"{name} is not available here.", hint="Leave it out: see docs/howto/dialects.md."
            )
    rules = read_rules(query.extract_rules) if query.extract_rules else None
    limits = {"max_credits": query.max_cost} if query.max_cost is not None else {}
    return Wanted.model_validate(
        {"formats": [format_of(query)], "extract": rules, "ladder": _ladder(query, here), "limits": limits}
    )


def format_of(query: BeeQuery) -> str:
    """Of ours, what the answer is made of."""
    if query.extract_rules:
        return "extract"
    if query.screenshot or query.screenshot_full_page:
        return "screenshot"
    if query.return_page_markdown:
        return "markdown"
    return "text" if query.return_page_text else "raw"


def _ladder(query: BeeQuery, here: Collection[str]) -> str | None:
    """None: what jobs usually do here, from cheap to dear as far as a page needs it."""
    if query.screenshot or query.screenshot_full_page:
        return None
    if query.stealth_proxy:
        return _first(query, "stealth_proxy", [name for name in _STEALTH if name in here][:1])
    if query.premium_proxy:
        premium = [name for name in here if "premium" in name and RUNGS[name].renders == (query.render_js is not False)]
        return _first(query, "premium_proxy", premium[:1])
    if query.render_js is None or query.mode == "auto":
        return None
    plain = [name for name in here if RUNGS[name].renders == query.render_js and not any(one in name for one in _DEAR)]
    return _first(query, "render_js", plain) if query.render_js else ",".join(plain or [DIRECT.name])


def _first(query: BeeQuery, name: str, found: Iterable[str]) -> str:
    chosen = ",".join(found)
    if not chosen:
        raise UserError(
            "lane-missing",
            f"{name} needs a way to fetch that is not configured here.",
            hint=f"Leave {name} out: the page is then fetched with what is here.",
        )
    return chosen


def read_rules(text: str) -> dict[str, Any]:
    """Extraction rules in our words."""
    try:
        given = orjson.loads(text)
    except orjson.JSONDecodeError:
        given = None
    if not isinstance(given, dict):
        raise UserError("dialect.rules", "extract_rules is no JSON object.", hint='Give one like {"title": "h1"}.')
    return {str(name): _rule(str(name), rule) for name, rule in given.items()}


def _rule(name: str, rule: Any) -> Any:
    if not isinstance(rule, Mapping):
        return rule
    selector, output = str(rule.get("selector", "")), rule.get("output", "text")
    kind = rule.get("selector_type", "auto")
    is_path = kind == "xpath" or (kind == "auto" and selector.startswith(("/", "./", "(")))
    ours: dict[str, Any] = {"xpath" if is_path else "css": selector}
    if rule.get("type") == "list":
        ours["list"] = True
    match output:
        case "text":
            return ours
        case "html":
            return {**ours, "type": "html"}
        case str() if output.startswith("@"):
            return {**ours, "attribute": output[1:]}
        case Mapping():
            return {**ours, "fields": {str(inner): _rule(f"{name}.{inner}", one) for inner, one in output.items()}}
    raise UserError(
        "dialect.rules",
        f"extract_rules: {name} has the output {output!r}, which is not available here.",
        hint="There are text, html, @attribute and rules inside it.",
    )
