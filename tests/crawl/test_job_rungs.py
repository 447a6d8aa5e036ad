"""What a job goes out on: with a key of its own, and never with somebody else's instead."""

from pathlib import Path

import pytest

from gossamer.accounts.sealing import Sealer, purpose_of
from gossamer.app import open_deps, sealer
from gossamer.crawl.crawl_setup import JobRungs, rungs_of_job
from gossamer.crawl.worker_deps import WorkerDeps
from gossamer.db.schema import upgrade
from gossamer.fetch import FetchError
from gossamer.intake.submit import submit
from gossamer.model.job import CrawlPolicy, JobRequest, Target
from gossamer.model.rungs import DIRECT, RUNGS, Ladder
from gossamer.model.trouble import Reason
from gossamer.retention import queries as retention_queries
from gossamer.settings import Settings

FIRECRAWL = RUNGS["firecrawl"]
LADDER = Ladder((DIRECT, FIRECRAWL))
PURPOSE = purpose_of("default", "firecrawl")


async def job_rungs(deps: WorkerDeps, sealed: bytes | None, ladder: Ladder = LADDER) -> JobRungs:
    keys = {"firecrawl": sealed} if sealed else {}
    target = Target("a.test", ("http://a.test/",), "a.test")
    request = JobRequest("t", "prospect", {"keywords": ["CRM"]}, (target,), start=False, sealed_keys=keys)
    job = await submit(deps.database, deps.recipes, request)
    assert not sealed or sealed.hex() not in repr(request)
    found = await rungs_of_job(deps, job.id, CrawlPolicy(ladder=ladder))
    assert await deps.database.write(retention_queries.archive, job.id, deps.clock.now(), "", "test")
    assert (await rungs_of_job(deps, job.id, CrawlPolicy(ladder=LADDER))).keys == {}, "gone when the job is archived"
    return found


async def test_a_key_that_cannot_be_read_is_not_replaced_by_the_operators(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, firecrawl_key="the-operators-own", connect_to="*.test=127.0.0.1:9")
    async with open_deps(settings, 1) as deps:
        await deps.database.write(upgrade)
        broken = await job_rungs(deps, Sealer(b"another secret").seal("fc-own", PURPOSE))
        with pytest.raises(FetchError, match="whose key cannot be read here") as caught:
            broken.open(FIRECRAWL, 1)
        others = await job_rungs(deps, sealer(settings).seal("fc-own", purpose_of("somebody-else", "firecrawl")))
        assert others.keys == {"firecrawl": None}
        good = await job_rungs(deps, sealer(settings).seal("fc-own", PURPOSE))
        free = await job_rungs(deps, sealer(settings).seal("fc-own", PURPOSE), Ladder((DIRECT,)))
        none = await job_rungs(deps, None)
        await good.open(FIRECRAWL, 1).close()
        await none.open(FIRECRAWL, 1).close()
    assert caught.value.trouble.reason is Reason.NOT_CONFIGURED
    assert good.keys == {"firecrawl": "fc-own"}
    assert "fc-own" not in repr(good)
    assert (free.keys, none.keys) == ({}, {})
