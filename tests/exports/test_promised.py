"""The bytes of default exports: those that integrations were promised, and what follows them for a client."""

from gossamer.model.job import Job
from gossamer.store import jobs
from tests.conftest import AnyDatabase
from tests.exports.lines import file_of
from tests.exports.matches import job_with, match

ROWS = [
    match("a.test", "blog/best", "CRM software", frequency=7, context_snippet='...the best "CRM software", we say...'),
    match("a.test", "", "CRM", link_url="https://rival.example/", verdict="links-elsewhere", position="heading"),
    match("b.test", "", "CRM", crawl_method="scrapingbee-standard", position="navigation"),
]

AS_CSV = (
    "domain,url,keyword,frequency,context_snippet,crawl_method,timestamp,http_status{more}\r\n"
    "a.test,https://a.test/,CRM,1,about CRM and more,direct,2026-03-04T05:06:07Z,200{first}\r\n"
    'a.test,https://a.test/blog/best,CRM software,7,"...the best ""CRM software"", we say...",direct,'
    "2026-03-04T05:06:07Z,200{second}\r\n"
    "b.test,https://b.test/,CRM,1,about CRM and more,scrapingbee-standard,2026-03-04T05:06:07Z,200{third}\r\n"
)
AS_JSON = """{
  "results": {
    "a.test": {"CRM":[{"url":"https://a.test/","frequency":1,"context":"about CRM and more","crawl_method":"direct",\
"timestamp":"2026-03-04T05:06:07Z","http_status":200%(first)s}],"CRM software":[{"url":"https://a.test/blog/best",\
"frequency":7,"context":"...the best \\"CRM software\\", we say...","crawl_method":"direct",\
"timestamp":"2026-03-04T05:06:07Z","http_status":200%(second)s}]},
    "b.test": {"CRM":[{"url":"https://b.test/","frequency":1,"context":"about CRM and more",\
"crawl_method":"scrapingbee-standard","timestamp":"2026-03-04T05:06:07Z","http_status":200%(third)s}]}
  }
}
"""


async def made(database: AnyDatabase, *, client: bool) -> Job:
    job = await job_with(database, ROWS)
    if not client:
        return job
    params = {**job.params, "client_domains": ["acme.example"]}
    other = await database.write(jobs.create, "other", "prospect", params, 0)
    # The same rows, of a job that was given a client's domain.
    return Job(job.id, job.name, job.recipe, other.params, job.state, "", job.created_at, None, None)


async def test_without_a_client_files_are_the_bytes_of_the_document(database: AnyDatabase) -> None:
    job = await made(database, client=False)
    nothing = {"more": "", "first": "", "second": "", "third": ""}
    assert await file_of(database, job, "csv") == AS_CSV.format(**nothing).encode()
    assert await file_of(database, job, "json") == (AS_JSON % nothing).encode()


async def test_with_a_client_our_own_columns_follow_the_promised_ones(database: AnyDatabase) -> None:
    job = await made(database, client=True)
    more = {
        "more": ",verdict,link_url,position,flags",
        "first": ",links-elsewhere,https://rival.example/,heading,",
        "second": ",unlinked,,body,",
        "third": ",unlinked,,navigation,navigation-only",
    }
    assert await file_of(database, job, "csv") == AS_CSV.format(**more).encode()
    names = more["more"].split(",")[1:]
    objects = {
        place: "".join(f',"{name}":"{cell}"' for name, cell in zip(names, more[place].split(",")[1:], strict=True))
        for place in ("first", "second", "third")
    }
    assert await file_of(database, job, "json") == (AS_JSON % objects).encode()
