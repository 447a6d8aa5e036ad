"""Command-line options of scrape jobs, and their terminal output, as data."""

from pathlib import Path

from gossamer.model.scrape import FORMATS
from gossamer.recipes.base import Command, Option, Screen, ScreenColumn

COMMAND = Command(
    ("scrape",),
    """Fetch single pages, exactly those you name, and print what you want of each as a line of JSON.

    Robots.txt is obeyed, and no site is asked more often than once a second, as in every job.

    Examples:

    \b
        gossamer scrape https://example.com/ --plain

        gossamer scrape https://example.com/a https://example.com/b --format markdown,metadata

        gossamer scrape --file urls.txt --extract rules.json --output pages.jsonl

    The exit code is 0 if all pages were read, and 1 if some were not.
    """,
    request="gossamer.recipes.scrape.request:typed_request",
    options=(
        Option(
            "--format",
            "What you want: html, raw, text, markdown, links, metadata, structured, extract, screenshot. "
            "markdown if not given.",
            metavar="NAME,NAME,...",
            repeated=True,
            choices=FORMATS,
        ),
        Option("--extract", "Fields to take out of each page.", type=Path, metavar="RULES.json"),
        Option(
            "--whole-page",
            "Markdown of the whole page, with its menus, banners and footers.",
            type=bool,
            default=False,
        ),
    ),
)

SCREEN = Screen(
    (
        ScreenColumn("Page", ("url",), 100, 20),
        ScreenColumn("State", ("status",), 7, 7),
        ScreenColumn("HTTP", ("http_status",), 4, 4, right=True),
        ScreenColumn("Title or reason", ("error", "title"), 80, 12),
    )
)
