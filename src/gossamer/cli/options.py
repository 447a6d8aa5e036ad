"""Options and arguments that several commands share."""

import typer

from gossamer.model.account import Right

_MOST = 10**12

DOMAINS = typer.Option(
    None,
    "--domains",
    metavar="FILE",
    help="TXT or CSV, one domain per line, or an Excel workbook; '-' reads standard input.",
    show_default=False,
)
DOMAIN = typer.Option(
    None,
    "--domain",
    metavar="NAME",
    help="A domain, or several separated by commas. May be repeated.",
    show_default=False,
)
SKIP_INVALID = typer.Option(
    False, "--skip-invalid", help="Skip lines that are not valid, and list them in <list>-skipped.csv."
)
EXCLUDE_DOMAINS = typer.Option(
    None, "--exclude-domains", metavar="FILE", help="Domains to leave out, in the same forms as --domains."
)
MAX_PAGES = typer.Option(500, min=1, max=50_000, help="Larger domains are not read whole.")
TOP_PAGES = typer.Option(50, min=1, max=50_000, help="Pages read of a domain larger than that.")
MODE = typer.Option(
    None,
    "--mode",
    metavar="MODE",
    help="free-only, hybrid or premium-only. hybrid where a provider is configured, else free-only.",
    show_default=False,
)
LADDER = typer.Option(
    None,
    "--ladder",
    metavar="RUNGS",
    help="Your own instead: ways to fetch in the order they are tried, like direct,stealth.",
    show_default=False,
)

MAX_CREDITS = typer.Option(
    None,
    "--max-credits",
    min=0,
    max=_MOST,
    metavar="N",
    help="Provider credits the job may spend, never one more (default: GOSSAMER_MAX_CREDITS, 10,000).",
    show_default=False,
)
MAX_USD = typer.Option(
    None, "--max-usd", min=0, max=1e9, metavar="N", help="Dollars the job may spend.", show_default=False
)
MAX_MB = typer.Option(
    None, "--max-mb", min=0, max=_MOST, metavar="N", help="Megabytes the job may take in.", show_default=False
)
MAX_RESIDENTIAL_MB = typer.Option(
    None,
    "--max-residential-mb",
    min=0,
    max=_MOST,
    metavar="N",
    help="Megabytes of those through proxies that are paid by their traffic.",
    show_default=False,
)
PROBE = typer.Option(
    None,
    "--probe",
    min=1,
    max=1_000,
    metavar="N",
    help="Look at N homepages first, for free, so that the estimate is closer.",
    show_default=False,
)
START_YES = typer.Option(False, "--yes", help="Start without asking, whatever it is estimated to cost.")
DELETE_YES = typer.Option(False, "--yes", help="Do not ask: it is meant.")
NO_WAIT = typer.Option(False, "--no-wait", help="Do not wait until requests in flight have finished.")
NO_AUTO_START = typer.Option(False, "--no-auto-start", help="Only create it; 'job start' starts it.")
JSON = typer.Option(False, "--json", help="Answer in JSON, for scripts.")
DETACH = typer.Option(False, "--detach", help="Work in the background and return at once.")
PROCESSES = typer.Option(None, "--processes", min=1, max=64, help="Working processes (default: one per core).")
JOB = typer.Argument(help="The job's id or 4 characters of it, its name, or 'last'.", metavar="ID", show_default=False)
WITHOUT_COSTS = typer.Option(False, "--without-costs", help="Say nothing of what the job has cost.")
TITLE = typer.Option(
    "",
    "--title",
    help="Title of the workbook or report, instead of the job's name.",
    metavar="TEXT",
    show_default=False,
)
CLIENT = typer.Option(
    "", "--client", help="The client's name in the workbook or report.", metavar="NAME", show_default=False
)
UNLINKED_ONLY = typer.Option(False, "--unlinked-only", help="Only mentions for which nobody is linked.")
RIGHT = typer.Option(
    Right.SUBMIT, "--scope", metavar="read|submit|admin", help="What may be done; each has the former."
)
