"""The server: how it is reached, whom it trusts, and what an account may have."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import AliasChoices, BeforeValidator, ByteSize, SecretStr

from gossamer.settings.forms import SOME_TIME, CreditPrices, Duration, Networks, Origins, Part, an_endpoint, setting


class Serving(Part):
    api_host: str = setting(
        "Where 'gossamer serve' listens; only this machine can reach it as long as it is loopback",
        "an address such as 127.0.0.1 or 0.0.0.0",
        default="127.0.0.1",
        min_length=1,
    )
    api_port: int = setting("Port on which it listens", "a number from 0 to 65535", default=8000, ge=0, le=65_535)
    api_url: Annotated[str, BeforeValidator(an_endpoint)] | None = setting(
        "How people reach the server, where it stands behind a proxy: what links in answers begin with",
        "an address such as https://crawl.example.com",
        default=None,
    )
    api_cors: Origins = setting(
        "Web pages of these origins may ask the server from a browser; none when unset",
        'origins such as https://app.example.com,http://localhost:5173, or a list like ["http://localhost:3000"]',
        default=(),
        validation_alias=AliasChoices("GOSSAMER_API_CORS", "CORS_ORIGINS"),
    )
    api_trusted_proxies: Networks = setting(
        "Proxies that are believed when they say for whom they ask (X-Forwarded-For); none when unset",
        "networks such as 10.0.0.0/8",
        default=(),
    )
    api_max_body: ByteSize = setting(
        "Largest body of a request", "a size such as 10MB", default=ByteSize(10_000_000), gt=0
    )
    api_key_rate: int = setting(
        "Requests per minute with one key, or by one user; 0 for no limit", "a whole number", default=600, ge=0
    )
    api_ip_rate: int = setting(
        "Requests per minute from one address; 0 for no limit", "a whole number", default=1_200, ge=0
    )
    api_failed_keys: int = setting(
        "Wrong keys per minute from one address, after which others are not looked up; 0 for no limit",
        "a whole number",
        default=60,
        ge=0,
    )
    api_drain: Duration = setting(
        "How long requests that are under way may take when the server is stopped",
        SOME_TIME,
        default=timedelta(seconds=20),
    )
    api_secret: SecretStr | None = setting(
        "What logins are signed with, and what secrets of webhooks and keys that come with jobs are encrypted with; "
        "all servers and workers of one database need the same. Made by itself in the home when unset. The bare name "
        "counts only where a database server is named",
        "at least 32 characters",
        default=None,
        min_length=32,
        validation_alias=AliasChoices("GOSSAMER_API_SECRET", "SECRET_KEY"),
    )
    jwt_algorithm: Literal["HS256"] = setting(
        "How logins are signed: there is one way only",
        "HS256",
        default="HS256",
        validation_alias=AliasChoices("GOSSAMER_JWT_ALGORITHM", "JWT_ALGORITHM"),
    )
    admin_token: SecretStr | None = setting(
        "A key of your own that may do everything in the account 'default'; the first start then makes and shows none. "
        "The bare name counts only where a database server is named",
        "at least 32 characters",
        default=None,
        min_length=32,
        validation_alias=AliasChoices("GOSSAMER_ADMIN_TOKEN", "ADMIN_TOKEN"),
    )
    account_jobs: int | None = setting(
        "Jobs of one account at work at once, of those that came through the server; the others wait",
        "a whole number above 0",
        default=20,
        gt=0,
    )
    account_queue: int | None = setting(
        "Jobs of one account that may wait for another one to end", "a whole number", default=1_000, ge=0
    )
    quota_credits: int | None = setting(
        "Account credits of a month (UTC) for accounts without a number of their own; no limit when unset. These are "
        "what you give your users, not what providers charge you",
        "a whole number",
        default=None,
        ge=0,
    )
    quota_prices: CreditPrices = setting(
        "Account credits that one page takes, by what has read it: direct 1, browser 5, stealth 10, flaresolverr 5 and "
        "providers 10 where nothing else is said",
        "prices such as direct=1,scrapingbee-js=25",
        default={},
    )
