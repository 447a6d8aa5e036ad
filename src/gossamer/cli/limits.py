"""The options that say what a job may spend."""

import typer

_MOST = 10**12

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
