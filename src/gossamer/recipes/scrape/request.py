"""The request for a scrape job, as every door builds it.

    listed = read_addresses(["https://example.com/a", ...])          # or read_address_file(path)
    request = scrape_request(listed, app.rungs, formats=["markdown"], rules={"price": ".price"}, name="...")
    job = (await submit_once(app.database, app.recipes, request)).job

Everything that can be wrong is a `UserError` before anything is written or fetched: `urls.bad`, `urls.empty`,
`urls.too_many`, `scrape.format`, `lane-missing`, `job.mode`, `job.ladder` and their like here, and `job.params` (an
extraction rule that means nothing, by its name) in `submit_once`. What came of each address is read by `results`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from gossamer.errors import UserError
from gossamer.intake.addresses import AddressList
from gossamer.intake.ladders import choose_ladder
from gossamer.intake.textfile import name_of, read_text
from gossamer.model.fields import meant
from gossamer.model.job import JobRequest, Priority
from gossamer.model.money import Cap
from gossamer.model.rungs import RUNGS, Mode
from gossamer.model.scrape import EXTRACT, FORMATS, SCREENSHOT, SHOOTING_LANES
from gossamer.recipes.scrape import SCRAPE

_LONGEST_NAME = 80
_NO_LIMIT = Cap()


def scrape_request(
    listed: AddressList,
    here: Collection[str],
    *,
    formats: Sequence[str] = (),
    rules: Mapping[str, Any] | None = None,
    mode: str | None = None,
    ladder: str | None = None,
    name: str = "",
    start: bool = True,
    submit_key: str = "",
    priority: Priority = Priority.NORMAL,
    cap: Cap = _NO_LIMIT,
    result_file: bool = False,
    only_main_content: bool = True,
) -> JobRequest:
    """A job for these pages and no others. `here` are the names of the rungs configured here."""
    wanted = check_formats(formats, here)
    if rules is not None and EXTRACT not in wanted:
        wanted = [*wanted, EXTRACT]
    rungs = choose_ladder(mode, ladder, here)
    if SCREENSHOT in wanted and ladder is None:
        # Pictures are taken where pages are shown, and nowhere else.
        rungs = {"mode": Mode.OWN, "ladder": [one for one in here if RUNGS[one].lane in SHOOTING_LANES]}
    params = {"formats": wanted, **({"extract": dict(rules)} if rules is not None else {}), **rungs}
    if result_file:
        params["result_file"] = True
    if not only_main_content:
        params["only_main_content"] = False
    # Params without formats have the recipe's own default.
    if not wanted:
        del params["formats"]
    return JobRequest(name or _name_of(listed), SCRAPE.name, params, listed.targets, start, submit_key, priority, cap)


def check_formats(formats: Sequence[str], here: Collection[str]) -> list[str]:
    """Return the formats in canonical spelling, without duplicates.

    Raises an error for a format that is unknown or not available in this installation.
    """
    wanted = list(dict.fromkeys(text.strip().lower() for text in formats))
    unknown = next((text for text in wanted if text not in FORMATS), None)
    if unknown is not None:
        raise UserError(
            "scrape.format",
            f"There is no format {unknown!r}.",
            hint=f"{meant(unknown, FORMATS)}There are {', '.join(FORMATS)}.",
        )
    if SCREENSHOT in wanted and not any(RUNGS[name].lane in SHOOTING_LANES for name in here):
        raise UserError(
            "lane-missing",
            "A screenshot needs the browser lane, and no browser is configured here.",
            hint=f"Ask for other formats: {', '.join(one for one in FORMATS if one != SCREENSHOT)}.",
        )
    return wanted


def with_usual_cap(request: JobRequest, usual: Cap) -> JobRequest:
    """Set the default credit limit on a request without one."""
    return replace(request, usual_credits=usual.credits)


def _name_of(listed: AddressList) -> str:
    first, more = listed.urls[0], len(listed.urls) - 1
    short = first if len(first) <= _LONGEST_NAME else first[: _LONGEST_NAME - 1] + "…"
    return f"Scrape of {short}" + (f" and {more:,} more" if more else "")


_EXPECTED_RULES = 'Expected JSON like {"title": "h1", "price": {"css": ".price", "type": "price"}}.'


def typed_request(values: Mapping[str, Any], listed: AddressList, here: Collection[str]) -> JobRequest:
    """The request of `gossamer scrape`, by the values of its options."""
    return scrape_request(
        listed,
        here,
        formats=[part for text in values["--format"] or () for part in text.split(",") if part.strip()],
        rules=_read_rules(values["--extract"]) if values["--extract"] else None,
        mode=values["--mode"],
        ladder=values["--ladder"],
        name=values["--name"],
        only_main_content=not values["--whole-page"],
    )


def _read_rules(path: Path) -> Mapping[str, Any]:
    text = read_text(path, "rules", _EXPECTED_RULES)
    try:
        rules = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UserError(
            "rules.invalid",
            f"{name_of(path)}, line {error.lineno}: this is not JSON ({error.msg.partition(':')[0]}).",
            hint=_EXPECTED_RULES,
        ) from error
    if not isinstance(rules, dict):
        raise UserError("rules.invalid", f"{name_of(path)} holds no object of rules.", hint=_EXPECTED_RULES)
    return rules
