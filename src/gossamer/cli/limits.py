"""Options that several commands share: what a job is to visit, how, what it may spend, and how that is estimated."""

import typer

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
YES = typer.Option(False, "--yes", help="Start without asking, whatever it is estimated to cost.")
