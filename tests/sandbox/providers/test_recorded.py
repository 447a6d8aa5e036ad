"""The emulators give the answers that the real providers gave."""

import pytest

from gossamer_sandbox.providers import Kind, Storm, emulate
from tests.fetch.loopback import Site
from tests.sandbox.providers.asking import call
from tests.sandbox.providers.recorded import ALL, HOST, IDS, PROSE, SCRAPERAPI, Recorded, fill


@pytest.mark.parametrize(("provider", "recorded"), ALL, ids=IDS)
async def test_the_emulator_gives_the_recorded_answer(provider: str, recorded: Recorded) -> None:
    async with Site() as site:
        fill(site)
        async with emulate(provider, f"{HOST}=127.0.0.1:{site.port}", **recorded.state) as running:
            if recorded.storm:
                running.storms.add(Storm(Kind.STATUS, status=recorded.storm))
            got = await call(running, recorded)
    assert got.status == recorded.status
    assert {name: got.headers.get(name) for name in recorded.headers} == recorded.headers
    if recorded.body is not None:
        whole = provider in ("scrapingbee", "scraperapi")
        assert got.body == recorded.body if whole else recorded.body in got.body
    assert running.bill.total == (recorded.credits or 0)


async def test_all_failures_of_a_site_have_one_text_at_scraperapi() -> None:
    failed = [recorded for recorded in SCRAPERAPI if recorded.status == 500 and not recorded.storm]
    assert len(failed) == 3
    async with Site() as site:
        fill(site)
        async with emulate("scraperapi", f"{HOST}=127.0.0.1:{site.port}") as running:
            bodies = {(await call(running, recorded)).body for recorded in failed}
    assert len(bodies) == 1
    assert bodies.pop().startswith(PROSE)
