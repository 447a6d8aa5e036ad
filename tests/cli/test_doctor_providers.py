"""The doctor asks every provider for its account, and knows which of them the workers could not use."""

from pathlib import Path

from gossamer.cli.doctor import CheckResult, Level
from gossamer.cli.doctor.services import check_providers
from gossamer.model.breaker import PROVIDER, News
from gossamer.settings import Settings
from gossamer.store.named_slots import StoredBreakers
from gossamer_sandbox.providers import emulate
from tests.conftest import AnyDatabase
from tests.servers import free_port


async def found(home: Path, **given: str) -> list[CheckResult]:
    return await check_providers(Settings(home=home, **given))


async def test_a_key_that_works_and_one_that_does_not(tmp_path: Path) -> None:
    async with emulate("scrapingbee", "", credits=1) as bee, emulate("firecrawl", "") as fire:
        keys = {"scrapingbee_key": bee.key, "firecrawl_key": "somebody-elses"}
        good, bad = await found(tmp_path, **keys, scrapingbee_url=bee.url, firecrawl_url=fire.url)
        bee.emulator.shop.credits = 0
        (empty,) = await found(tmp_path, scrapingbee_key=bee.key, scrapingbee_url=bee.url)
    assert (good.level, good.sentence) == (Level.OK, "ScrapingBee takes the key. 1 credit left there.")
    assert (bad.level, bad.sentence) == (Level.FAIL, "Firecrawl does not accept the key (HTTP 401).")
    assert bad.next_step == "Correct GOSSAMER_FIRECRAWL_KEY."
    assert (empty.level, empty.sentence) == (Level.WARN, "The credits at ScrapingBee are used up.")
    assert not (tmp_path / "gossamer.db").exists()


async def test_one_that_does_not_answer_and_none_at_all(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    (away,) = await found(tmp_path, scraperapi_key="key-of-a-test", scraperapi_url=url)
    assert (away.level, away.sentence) == (Level.WARN, "The account at ScraperAPI cannot be read: Could not connect.")
    (none,) = await found(tmp_path)
    assert none.level is Level.OK
    (own,) = await found(tmp_path, flaresolverr_url=url)
    assert own.sentence == "FlareSolverr is set up. It has no account that could be looked at."


async def test_what_the_workers_have_found(tmp_path: Path, database: AnyDatabase, database_url: str) -> None:
    why = "PROVIDER_KEY ScrapingBee: HTTP 401"
    await StoredBreakers(database).tell("provider:scrapingbee", PROVIDER, News.GRAVE, why)
    async with emulate("scrapingbee", "") as bee:
        keys = {"scrapingbee_key": bee.key, "scrapingbee_url": bee.url, "database_url": database_url}
        account, resting = await found(tmp_path, **keys)
    assert account.level is Level.OK
    assert resting.level is Level.WARN
    assert resting.sentence == (
        "ScrapingBee has not worked for 0 s: The provider does not accept the key (ScrapingBee: HTTP 401)."
    )


async def test_a_damaged_database_does_not_hide_the_key(tmp_path: Path) -> None:
    (tmp_path / "gossamer.db").write_text("garbage " * 1000)
    async with emulate("scrapingbee", "") as bee:
        (account,) = await found(tmp_path, scrapingbee_key=bee.key, scrapingbee_url=bee.url)
    assert account.level is Level.OK
