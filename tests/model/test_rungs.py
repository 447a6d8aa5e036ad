"""The table of rungs: rows can be opened, their settings exist, secrets are hidden, and the docs say the same."""

import io
import logging
import re
from pathlib import Path
from typing import cast

import pytest

from gossamer.app import start_log
from gossamer.fetch.forward_proxy import Permit
from gossamer.fetch.providers.base import Books, Wish
from gossamer.logging import get_logger
from gossamer.model.account import credit_prices
from gossamer.model.registry import resolve
from gossamer.model.rungs import RUNGS, Form, Lane, Mode, Provider, Rung, all_settings, label_of, names_of, providers
from gossamer.settings import PREFIX, Settings, secret_names
from gossamer.settings.files import not_here, provider_keys

DOCS = Path(__file__).parents[2] / "docs"
SECRETS = {
    *("admin_token", "api_key", "api_secret", "broker_url", "database_url", "proxy", "redis_url", "secrets"),
    *("storage_access_key", "storage_secret_key"),
    *(one.name for one in all_settings() if one.is_secret),
}
URLS = {"database_url", "broker_url", "proxy", "redis_url"}


@pytest.mark.parametrize("row", RUNGS.values(), ids=lambda row: row.name)
def test_every_rung_can_be_opened_or_says_that_it_cannot(row: Rung) -> None:
    opener = row.provider.opener if row.provider else row.opener
    assert bool(opener) == row.can_open == (row.lane not in (Lane.BROWSER, Lane.STEALTH))
    assert not opener or callable(resolve(opener))
    assert row.label
    assert bool(row.provider) or not row.is_paid


@pytest.mark.parametrize("row", providers().values(), ids=lambda row: row.name)
def test_what_speaks_to_a_provider_is_called_as_its_row(row: Provider) -> None:
    for rung in (rung for rung in RUNGS.values() if rung.provider is row):
        made = resolve(row.opener)(Wish(rung.name, "some-key", "http://127.0.0.1:9", way=cast("Permit", object())))
        assert (made.name, made.title) == (row.name, row.title)
        assert isinstance(made, Books) is not row.is_browser


def test_settings_of_rungs_are_settings() -> None:
    fields = Settings.model_fields
    for one in all_settings():
        assert one.variable == f"{PREFIX}{one.name.upper()}"
        assert fields[one.name].description == one.meaning
        assert (one.name in secret_names(fields)) == one.is_secret == (one.name in provider_keys())
        assert (one.name in not_here()) == (one.form is Form.ADDRESS)
    for row in providers().values():
        assert any(one.is_required for one in row.settings), f"{row.name} would be used without being set up"


def test_all_secrets_are_known() -> None:
    assert {"firecrawl_key", "scraperapi_key", "scrapingbee_key"} <= SECRETS
    assert set(secret_names(Settings.model_fields)) == SECRETS


def test_no_secret_of_any_setting_is_written_into_the_log(tmp_path: Path) -> None:
    keys = SECRETS - URLS - {"secrets"}
    values: dict[str, object] = {name: f"{name.replace('_', '-')}-5f1e0d9c8b7a6f5e4d3c2b1a" for name in keys}
    values |= {name: f"http://me:{name.replace('_', '-')}-p%40ss@localhost/1" for name in URLS - {"database_url"}}
    values["redis_url"] = str(values["redis_url"]).replace("http", "redis")
    values["proxy"] = str(values["proxy"]).removesuffix("/1")
    values["database_url"] = "postgresql://me:database-url-p%40ss@localhost/1"
    values["secrets"] = {"maps": "secrets-of-recipes-5f1e0d9c"}
    settings = Settings(home=tmp_path, **values)
    hidden = settings.hidden_values()
    assert {*(values[name] for name in keys - {"storage_access_key"}), "secrets-of-recipes-5f1e0d9c"} <= {*hidden}
    written = io.StringIO()
    start_log(settings, stream=written)
    log = get_logger("tests")
    for text in hidden:
        log.warning("something.said", what=f"it was {text}, and nothing else", raw=text)
    logging.getLogger("tests").warning("and %s", " ".join(hidden))
    said = written.getvalue()
    assert said.count("something.said") == len(hidden)
    assert [text for text in hidden if text in said] == []
    assert "p@ss" in " ".join(hidden)
    assert "p%40ss" in " ".join(hidden)


def test_modes_name_rungs_that_fit() -> None:
    for rung in RUNGS.values():
        assert rung.is_paid or not (rung.in_hybrid or rung.in_premium)
        assert rung.renders or not rung.in_premium
    for mode in Mode:
        for here in ((), tuple(RUNGS)):
            assert all(name in RUNGS for name in names_of(mode, here))


def test_every_rung_has_a_price_in_credits_of_accounts() -> None:
    assert credit_prices({"direct": 3}) == {**{name: row.account_credits for name, row in RUNGS.items()}, "direct": 3}
    assert all(row.account_credits > 0 for row in RUNGS.values())


def test_a_rung_that_is_gone_is_still_called_something() -> None:
    assert label_of("toy-that-was") == "Toy-that-was"


def _cells(page: str, first: str) -> list[list[str]]:
    """The rows of the table whose header begins with this cell."""
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith(f"| {first} |"))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def test_the_docs_have_every_price() -> None:
    told: dict[str, tuple[int, int]] = {}
    for names, usual, worst in _cells("explain/money.md", "Rung"):
        rungs = re.findall(r"`([\w-]+)`", names)
        told.update(zip(rungs, zip(map(int, usual.split(", ")), map(int, worst.split(", ")), strict=True), strict=True))
    assert told == {row.name: (row.cost.usual, row.cost.worst) for row in RUNGS.values() if row.cost}


def test_the_docs_have_every_rung_and_its_lane() -> None:
    told: dict[str, str] = {}
    for names, lanes, _ in _cells("howto/choose-a-mode.md", "Method"):
        rungs = re.findall(r"`([\w-]+)`", names)
        for at, rung in enumerate(rungs):
            told[rung] = (lanes.split(", ") * len(rungs))[at]
    assert told == {row.name: str(row.lane) for row in RUNGS.values()}


def test_the_docs_have_every_provider_with_what_it_needs_and_its_rungs() -> None:
    rows = {title: (setting, listed) for title, setting, _, listed in _cells("howto/use-a-provider.md", "Provider")}
    for provider in providers().values():
        setting, listed = rows.pop(provider.title)
        assert provider.access
        assert setting == f"`{provider.access.variable}`"
        own = [rung for rung in RUNGS.values() if rung.provider is provider]
        assert re.findall(r"`([\w-]+)`", listed) == [rung.name for rung in own]
        prices = [int(price) for price in re.findall(r"` (\d+)", listed)]
        assert prices in ([], [rung.cost.usual for rung in own if rung.cost])
    assert rows == {}
