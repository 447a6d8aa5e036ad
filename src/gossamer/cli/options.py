"""Options and arguments that several commands share."""

import typer

from gossamer.model.account import Right
from gossamer.model.export import FORMAT_NAMES

FORMAT_CHOICES = "|".join(FORMAT_NAMES)
_MOST = 10**12

DOMAINS = typer.Option(
    None,
    "--domains",
    metavar="FILE",
    help="TXT or CSV, one domain per line, or an Excel workbook; '-' reads standard input.",
)
DOMAIN = typer.Option(
    None, "--domain", metavar="NAME", help="A domain, or several separated by commas. May be repeated."
)
SKIP_INVALID = typer.Option(
    False, "--skip-invalid", help="Skip lines that are not valid, and list them in <list>-skipped.csv."
)
EXCLUDE_DOMAINS = typer.Option(
    None, "--exclude-domains", metavar="FILE", help="Domains to leave out, in the same forms as --domains."
)
MAX_PAGES = typer.Option(500, min=1, max=50_000, help="Crawl a domain completely up to this many pages.")
TOP_PAGES = typer.Option(50, min=1, max=50_000, help="Of a larger domain, read this many pages.")
MODE = typer.Option(
    None,
    "--mode",
    metavar="MODE",
    help="free-only, hybrid or premium-only (default: hybrid where a provider is configured, else free-only).",
)
LADDER = typer.Option(
    None,
    "--ladder",
    metavar="METHODS",
    help="Custom list of fetch methods, in the order they are tried, like direct,stealth.",
)

MAX_CREDITS = typer.Option(
    None,
    "--max-credits",
    min=0,
    max=_MOST,
    metavar="N",
    help="Most provider credits the job may spend (default: GOSSAMER_MAX_CREDITS, 10,000).",
)
MAX_USD = typer.Option(None, "--max-usd", min=0, max=1e9, metavar="N", help="Most dollars the job may spend.")
MAX_MB = typer.Option(None, "--max-mb", min=0, max=_MOST, metavar="N", help="Most megabytes the job may download.")
MAX_RESIDENTIAL_MB = typer.Option(
    None,
    "--max-residential-mb",
    min=0,
    max=_MOST,
    metavar="N",
    help="Most megabytes the job may download through proxies that are paid by traffic.",
)
PROBE = typer.Option(
    None, "--probe", min=1, max=1_000, metavar="N", help="Fetch N homepages first, for free, for a closer estimate."
)
START_YES = typer.Option(False, "--yes", help="Start without asking for confirmation, whatever the estimated cost.")
DELETE_YES = typer.Option(False, "--yes", help="Skip the confirmation.")
NO_WAIT = typer.Option(False, "--no-wait", help="Do not wait until requests in flight have finished.")
NO_AUTO_START = typer.Option(False, "--no-auto-start", help="Only create the job; 'job start' starts it.")
JSON = typer.Option(False, "--json", help="Answer in JSON, for scripts.")
DETACH = typer.Option(False, "--detach", help="Run in the background and return at once.")
PROCESSES = typer.Option(None, "--processes", min=1, max=64, help="Worker processes (default: one per core).")
JOB = typer.Argument(help="The job's id or 4 characters of it, its name, or 'last'.", metavar="ID")
WITHOUT_COSTS = typer.Option(False, "--without-costs", help="Leave out costs.")
TITLE = typer.Option("", "--title", help="Title of the workbook or report, instead of the job's name.", metavar="TEXT")
CLIENT = typer.Option("", "--client", help="The client's name in the workbook or report.", metavar="NAME")
UNLINKED_ONLY = typer.Option(False, "--unlinked-only", help="Only mentions without a link.")
RIGHT = typer.Option(
    Right.SUBMIT, "--scope", metavar="read|submit|admin", help="What it may do; each includes the ones before it."
)
