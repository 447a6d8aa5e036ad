"""`gossamer scrape`, as data."""

from gossamer.recipes.base import Command

COMMAND = Command(
    ("scrape",), "Fetch single pages, exactly those you name, and print what you want of each as a line of JSON."
)
