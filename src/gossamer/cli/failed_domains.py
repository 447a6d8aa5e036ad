"""`job errors`: the domains that failed, on the screen or in a file."""

from pathlib import Path

from gossamer.assembly import App
from gossamer.cli import kept, tables, words
from gossamer.cli.direct import write_directly
from gossamer.cli.export_files import Asking
from gossamer.cli.scraped_table import show_failed_pages
from gossamer.cli.session import say, say_json
from gossamer.export.moments import iso
from gossamer.intake.control import find_job
from gossamer.model.ids import short
from gossamer.model.states import SiteState
from gossamer.store import counters, sites


async def show_errors(app: App, text: str, limit: int, form: str | None, output: Path | None, *, as_json: bool) -> int:
    job = await find_job(app.database, text)
    await kept.refuse_gone(app, job)
    if form is not None or output:
        (order,) = await Asking("errors", form).orders(app, job, output or Path("-"))
        return await write_directly(app, order, output or Path("-"), as_json=as_json)
    if words.is_of_pages(job):
        return await show_failed_pages(app, job, limit, as_json=as_json)
    found = await app.database.read(sites.summaries, job.id, SiteState.FAILED, limit=limit)
    if as_json:
        say_json(
            [
                {
                    "domain": site.host,
                    "failure_reason": site.trouble.sentence if site.trouble else "",
                    "http_status": site.trouble.http_status if site.trouble else None,
                    "retry_count": site.retries,
                    "last_attempt_timestamp": iso(site.last_attempt_at),
                }
                for site in found
            ]
        )
        return 0
    if not found:
        say("No domain failed.")
        return 0
    tables.show(tables.failures(found, tables.width()))
    total = (await app.database.read(counters.progress, job.id)).sites_failed
    more = " More of them: --limit." if len(found) < total else ""
    say(f"{len(found):,} of {words.several(total, 'failed domain')}.{more}")
    say(f"As a file:\n  gossamer job errors {short(job.id)} --output failed_domains.csv")
    return 0
