"""What is typed of scrape jobs, and what a terminal shows of them, as data."""

from gossamer.recipes.base import Command, Screen, ScreenColumn

COMMAND = Command(
    ("scrape",), "Fetch single pages, exactly those you name, and print what you want of each as a line of JSON."
)

SCREEN = Screen(
    (
        ScreenColumn("Page", ("url",), 100, 20),
        ScreenColumn("State", ("status",), 7, 7),
        ScreenColumn("HTTP", ("http_status",), 4, 4, right=True),
        ScreenColumn("Title or reason", ("error", "title"), 80, 12),
    )
)
