"""What may be spent, and what things cost."""

from datetime import date

from gossamer.settings.forms import Part, Prices, setting


class Money(Part):
    max_credits: int = setting(
        "Provider credits a job may spend that was given no limit of its own", "a whole number", default=10_000, ge=0
    )
    confirm_usd: float = setting(
        "Dollars from which on a person is asked before a job starts that may cost more",
        "a number such as 10",
        default=10.0,
        ge=0,
        allow_inf_nan=False,
    )
    daily_credits: int | None = setting(
        "Provider credits all jobs together may spend in a day (UTC); no limit when unset",
        "a whole number",
        default=None,
        ge=0,
    )
    daily_usd: float | None = setting(
        "Dollars all jobs together may spend in a day (UTC); no limit when unset",
        "a number such as 50",
        default=None,
        ge=0,
        allow_inf_nan=False,
    )
    account_credits: int | None = setting(
        "Provider credits an account may spend in a month (UTC); no limit when unset",
        "a whole number",
        default=None,
        ge=0,
    )
    account_usd: float | None = setting(
        "Dollars an account may spend in a month (UTC); no limit when unset",
        "a number such as 500",
        default=None,
        ge=0,
        allow_inf_nan=False,
    )
    credit_usd: float = setting(
        "What a provider credit costs by your plan, in dollars",
        "a number such as 0.01",
        default=0.01,
        ge=0,
        allow_inf_nan=False,
    )
    prices: Prices = setting(
        "What single rungs cost, instead of what the table says: credits at worst, dollars per credit or per gigabyte",
        "prices such as scrapingbee-js=5,firecrawl=5@0.0008,residential=8/GB",
        default={},
    )
    prices_read: date | None = setting(
        "The day on which you read your providers' prices", "a date such as 2026-11-16", default=None
    )
