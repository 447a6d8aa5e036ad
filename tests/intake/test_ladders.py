"""Modes and ladders: what was asked for, cut to what can be used here, or a sentence with the next step."""

from typing import Any

import pytest

from gossamer.errors import UserError
from gossamer.intake.ladders import agreed_ladder, choose_ladder, missing_sentence
from gossamer.model.rungs import RUNGS, Mode, ladder_of

ALONE = ("direct",)
BEE = ("direct", "scrapingbee-standard", "scrapingbee-js", "scrapingbee-premium", "scrapingbee-stealth")
API = ("direct", "stealth", "scraperapi", "scraperapi-js")


@pytest.mark.parametrize(
    ("mode", "here", "ladder"),
    [
        (None, ALONE, []),
        ("free-only", BEE, []),
        (None, BEE, ["direct", "scrapingbee-standard", "scrapingbee-js"]),
        ("hybrid", BEE, ["direct", "scrapingbee-standard", "scrapingbee-js"]),
        ("Smart-Hybrid", API, ["direct", "scraperapi", "scraperapi-js"]),
        ("premium-only", BEE, ["scrapingbee-js"]),
        ("premium-only", API, ["scraperapi-js"]),
        ("hybrid", ALONE, ["direct"]),
        (None, (*ALONE, "flaresolverr"), ["direct", "flaresolverr"]),
        ("hybrid", (*ALONE, "flaresolverr"), ["direct", "flaresolverr"]),
        ("free-only", (*ALONE, "flaresolverr"), []),
        (None, (*BEE, "flaresolverr"), ["direct", "flaresolverr", "scrapingbee-standard", "scrapingbee-js"]),
        ("premium-only", (*BEE, "flaresolverr"), ["scrapingbee-js"]),
    ],
)
def test_a_mode_is_a_ladder_cut_to_what_is_here(mode: str | None, here: tuple[str, ...], ladder: list[str]) -> None:
    assert choose_ladder(mode, None, here).get("ladder", []) == ladder


def test_with_a_flaresolverr_no_provider_is_missing() -> None:
    here = (*ALONE, "flaresolverr")
    assert missing_sentence(choose_ladder("hybrid", None, here), here) == ""


def test_a_ladder_of_ones_own_is_taken_as_it_is() -> None:
    assert choose_ladder(None, " direct, Stealth ", API) == {"mode": Mode.OWN, "ladder": ["direct", "stealth"]}


@pytest.mark.parametrize(
    ("mode", "ladder", "code", "hint"),
    [
        ("cheap", None, "job.mode", "free-only, hybrid and premium-only"),
        ("hybrid", "direct", "job.mode", "choose-a-mode"),
        (None, "direct,telepathy", "job.ladder", "direct, stealth, scraperapi"),
        (None, "", "job.ladder", "direct, stealth, scraperapi"),
        (None, "direct,direct", "job.ladder", "once"),
        (None, "direct,browser", "job.rung_not_configured", "choose-a-mode"),
    ],
)
def test_what_cannot_be_used_is_refused(mode: str | None, ladder: str | None, code: str, hint: str) -> None:
    with pytest.raises(UserError) as refused:
        choose_ladder(mode, ladder, API)
    assert refused.value.code == code
    assert hint in refused.value.hint


def test_premium_only_without_a_provider_is_refused() -> None:
    with pytest.raises(UserError, match="no provider is configured here") as refused:
        choose_ladder("premium-only", None, ALONE)
    assert refused.value.code == "job.mode_not_configured"


def test_a_ladder_that_was_cut_says_so_and_remembers_what_is_missing() -> None:
    params = choose_ladder("hybrid", None, ALONE)
    assert "scrapingbee-standard or scrapingbee-js will fail" in missing_sentence(params, ALONE)
    ladder = ladder_of(params["mode"], params["ladder"])
    assert [rung.name for rung in ladder.missing] == ["scrapingbee-standard", "scrapingbee-js"]
    whole = choose_ladder("hybrid", None, BEE)
    assert missing_sentence(whole, BEE) == ""
    assert ladder_of(whole["mode"], whole["ladder"]).missing == ()
    assert ladder_of(Mode.FREE_ONLY, []).rungs == (RUNGS["direct"],)


_PROVIDED = ("direct", "scrapingbee-standard", "scrapingbee-js")


@pytest.mark.parametrize(
    ("mode", "ladder", "here"),
    [
        (None, None, _PROVIDED),
        ("hybrid", None, _PROVIDED),
        ("premium-only", None, _PROVIDED),
        ("hybrid", None, ("direct",)),
        ("free-only", None, _PROVIDED),
        (None, "direct", _PROVIDED),
        (None, "direct,scrapingbee-js", _PROVIDED),
    ],
)
def test_what_was_chosen_before_is_chosen_again(mode: str | None, ladder: str | None, here: tuple[str, ...]) -> None:
    chosen = {"mode": Mode.FREE_ONLY, "ladder": [], **choose_ladder(mode, ladder, here)}
    assert agreed_ladder(None, None, chosen, here) == chosen
    assert agreed_ladder(mode, ladder, chosen, here) == chosen


@pytest.mark.parametrize(
    ("mode", "params", "code"),
    [
        (None, {"mode": "hybrid", "ladder": ["scrapingbee-js"]}, "job.mode"),
        (None, {"mode": "free-only", "ladder": ["scrapingbee-js"]}, "job.mode"),
        ("free-only", {"mode": "hybrid"}, "job.mode"),
        ("hybrid", {"ladder": ["direct"]}, "job.mode"),
        (None, {"ladder": ["firecrawl"]}, "job.rung_not_configured"),
    ],
)
def test_parameters_that_contradict_or_cannot_be_had_are_refused(
    mode: str | None, params: dict[str, Any], code: str
) -> None:
    with pytest.raises(UserError) as refused:
        agreed_ladder(mode, None, params, _PROVIDED)
    assert refused.value.code == code
