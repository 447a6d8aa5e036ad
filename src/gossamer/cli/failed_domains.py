"""`job errors`: the domains that failed, on the screen or in a file."""

from pathlib import Path

from gossamer.cli import tables, words
from gossamer.cli.direct import write_directly
from gossamer.cli.export_files import Asking
from gossamer.cli.home import Home
from gossamer.cli.scraped_table import show_failed_pages
from gossamer.cli.session import say, say_json
from gossamer.export.errors import BY_HAND
from gossamer.export.moments import iso
from gossamer.model.ids import short
from gossamer.questions.found import failures


async def show_errors(
    home: Home, text: str, limit: int, form: str | None, output: Path | None, *, by_hand: bool, as_json: bool
) -> int:
    if form is not None or output:
        asked = Asking("errors", form, only=BY_HAND if by_hand else "")
        return await write_directly(home, text, asked, output or Path("-"), as_json=as_json)
    answer = await home.ask(failures, text, limit, by_hand=by_hand)
    if answer.pages is not None:
        return show_failed_pages(answer, answer.pages, limit, as_json=as_json)
    job, found = answer.job, answer.sites
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
        say("No domain wants a login or a CAPTCHA." if by_hand else "No domain failed.")
        return 0
    tables.show(tables.failures(found, tables.width()))
    if by_hand:
        say(f"{words.several(len(found), 'domain')} to look at in a browser: a login or a CAPTCHA is for people.")
        say(f"As a file:\n  gossamer job errors {short(job.id)} --by-hand --output by_hand.csv")
        return 0
    total = answer.progress.sites_failed
    more = " More of them: --limit." if len(found) < total else ""
    say(f"{len(found):,} of {words.several(total, 'failed domain')}.{more}")
    say(f"As a file:\n  gossamer job errors {short(job.id)} --output failed_domains.csv")
    return 0
