"""How long one page may take and how large it may be; and how the log is written."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, ByteSize

from gossamer.settings.forms import SOME_TIME, Duration, Part, folder, lower, setting


class Reading(Part):
    http_timeout: Duration = setting(
        "Time for one request in all, from the name to the last byte; in scrapes and batches always 30 s",
        SOME_TIME,
        default=timedelta(seconds=15),
        gt=timedelta(0),
    )
    connect_timeout: Duration = setting(
        "Time for the connection and its TLS handshake", SOME_TIME, default=timedelta(seconds=10), gt=timedelta(0)
    )
    read_timeout: Duration = setting(
        "Longest silence in the middle of an answer", SOME_TIME, default=timedelta(seconds=15), gt=timedelta(0)
    )
    max_page_bytes: ByteSize = setting(
        "Largest page that is kept, after decompression", "a size such as 10MB", default=ByteSize(10_000_000), gt=0
    )
    log_format: Annotated[Literal["line", "json"], BeforeValidator(lower)] = setting(
        "How log lines are written", "line or json", default="line"
    )
    log_level: Annotated[Literal["debug", "info", "warning", "error"], BeforeValidator(lower)] = setting(
        "The least important line that is written", "debug, info, warning or error", default="info"
    )
    log_file: Annotated[Path, BeforeValidator(folder)] | None = setting(
        "File the log goes to; logs/gossamer.log in the home folder when unset", "a file", default=None
    )
