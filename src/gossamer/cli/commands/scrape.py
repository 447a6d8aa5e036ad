"""`gossamer scrape`: single pages, one or many, without a server and without an account."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from gossamer.cli.command import command
from gossamer.cli.lazy import lazy_module
from gossamer.cli.options import MAX_CREDITS, MAX_USD, PROCESSES

if TYPE_CHECKING:
    from gossamer.cli import runtime, scrape
    from gossamer.cli.home import Home
    from gossamer.intake import limits
else:
    limits = lazy_module("gossamer.intake.limits")
    runtime = lazy_module("gossamer.cli.runtime")
    scrape = lazy_module("gossamer.cli.scrape")


@command("scrape")
def scrape_pages(
    urls: list[str] = typer.Argument(None, help="Addresses of pages.", metavar="[URL]...", show_default=False),
    file: Path | None = typer.Option(
        None,
        "--file",
        metavar="FILE",
        help="More of them, one per line, CSV with a 'url' column or an Excel workbook; '-' reads standard input.",
        show_default=False,
    ),
    formats: list[str] = typer.Option(
        None,
        "--format",
        metavar="NAME,NAME,...",
        help="What you want: html, raw, text, markdown, links, metadata, structured, extract, screenshot. "
        "markdown if not given.",
        show_default=False,
    ),
    extract: Path | None = typer.Option(
        None, "--extract", metavar="RULES.json", help="Fields to take out of each page.", show_default=False
    ),
    whole_page: bool = typer.Option(
        False, "--whole-page", help="Markdown of the whole page, with its menus, banners and footers."
    ),
    output: Path = typer.Option(Path("-"), "--output", help="Write this file; '-' for standard output."),
    plain: bool = typer.Option(False, "--plain", help="Of one page in one format: only that, no JSON around it."),
    mode: str | None = typer.Option(
        None, "--mode", metavar="MODE", help="free-only, hybrid or premium-only, as for 'job run'.", show_default=False
    ),
    ladder: str | None = typer.Option(
        None, "--ladder", metavar="RUNGS", help="Your own instead, like direct,scrapingbee-js.", show_default=False
    ),
    max_credits: int | None = MAX_CREDITS,
    max_usd: float | None = MAX_USD,
    name: str = typer.Option("", "--name", help="What the job is called in 'job list'.", show_default=False),
    processes: int | None = PROCESSES,
    detach: bool = typer.Option(False, "--detach", help="Work in the background; say only which job it is."),
    as_json: bool = typer.Option(False, "--json", help="Errors in JSON too, and no progress."),
) -> None:
    """Fetch single pages, exactly those you name, and print what you want of each as a line of JSON.

    Robots.txt is obeyed, and no site is asked more often than once a second, as in every job.

    Examples:

    \b
        gossamer scrape https://example.com/ --plain

        gossamer scrape https://example.com/a https://example.com/b --format markdown,metadata

        gossamer scrape --file urls.txt --extract rules.json --output pages.jsonl

    The exit code is 0 if all pages were read, and 1 if some were not.
    """
    wanted = scrape.ScrapeOptions(
        tuple(urls or ()),
        file,
        tuple(part for text in formats or () for part in text.split(",") if part.strip()),
        extract,
        mode,
        ladder,
        name,
        limits.cap_of(max_credits, max_usd, None, None),
        only_main_content=not whole_page,
    )

    async def work(home: "Home") -> int:
        return await scrape.scrape_pages(
            home, wanted, output, plain=plain, processes=processes, detach=detach, quiet=as_json
        )

    runtime.run(work)
