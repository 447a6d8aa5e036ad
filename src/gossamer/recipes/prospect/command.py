"""`gossamer job run`, as data."""

from gossamer.recipes.base import Command, Option

COMMAND = Command(
    ("job", "run"),
    "Find the pages of many domains that mention your keywords, and whether they link to your client.",
    options=(
        Option("--keyword", "keywords", "A word or phrase.", repeated=True),
        Option("--client-domain", "client_domains", "Whose links to look for.", repeated=True),
        Option("--competitor-domain", "competitor_domains", "A rival of the client.", repeated=True),
    ),
)
