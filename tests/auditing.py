"""Jobs whose rows add up, and what every test that has harmed something ends with."""

from uuid import UUID

from gossamer.crawl.audit import AuditReport, audit
from gossamer.model.page import Page
from gossamer.model.states import JobState, PageState, SiteState
from gossamer.model.trouble import Reason, Trouble
from gossamer.recipes.registry import RECIPES
from gossamer.settle.step import Finished, HandBack, PageStep, Step
from gossamer.store import jobs
from tests.conftest import AnyDatabase
from tests.jobs import claim_all, done, make_job, settle

DONE = Finished(SiteState.DONE)


async def worked(database: AnyDatabase) -> UUID:
    """A running job: a.test is done, b.test has failed, c.test has pages in every state and waits for its turn."""
    job = await database.write(make_job, "a.test", "b.test", "c.test")
    held = {visit.host: visit for visit in await database.write(claim_all)}
    a, b, c = (held[f"{name}.test"] for name in "abc")
    await settle(database, done(a, "http://a.test/", "CRM", "ERP"), done(a, "http://a.test/x", "CRM", depth=1))
    await settle(database, Step(a, ending=DONE))
    await settle(database, Step(b, ending=Finished(SiteState.FAILED, Trouble(Reason.DNS))))
    now = await database.read(lambda tx: tx.now)
    await settle(
        database,
        done(c, "http://c.test/", "CRM"),
        Step(c, PageStep(Page.at("http://c.test/gone", 1), PageState.FAILED, Trouble(Reason.TIMEOUT, "15s"))),
        Step(c, PageStep(Page.at("http://c.test/same", 1), PageState.SKIPPED, Trouble(Reason.SAME_AS, "/"))),
        Step(c, chosen=(Page.at("http://c.test/next", 1),), ending=HandBack(now)),
    )
    return job.id


async def finished(database: AnyDatabase) -> UUID:
    job_id = await worked(database)
    (visit,) = await database.write(claim_all)
    await settle(database, done(visit, "http://c.test/next", "ERP", depth=1), Step(visit, ending=DONE))
    await database.write(jobs.move, job_id, JobState.COMPLETED)
    return job_id


async def audited(database: AnyDatabase, job_id: UUID) -> AuditReport:
    return await audit(database, job_id, RECIPES)


async def assert_clean(database: AnyDatabase, job_id: UUID) -> None:
    """The rows of the job add up."""
    report = await audited(database, job_id)
    assert report.clean, report.sentence
