"""A file made from a job's rows: its order and its progress."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from gossamer.model.ids import short

KEPT = timedelta(days=7)
"""Retention period of export files."""

RESULT = "result"
"""Type of the file made automatically from a scrape whose caller did not wait. It cannot be requested by name."""

RESULT_KEPT = timedelta(hours=24)
"""Retention period of such files: they may hold whole pages, which are kept for a day only."""


FORMAT_NAMES = ("csv", "json", "jsonl", "xlsx", "parquet")
"""The formats of files, by the endings of their names: exports/formats.py says how each is written."""


def list_formats() -> str:
    """`csv, json or parquet`."""
    return f"{', '.join(FORMAT_NAMES[:-1])} or {FORMAT_NAMES[-1]}"


class ExportState(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


OPEN = (ExportState.PENDING, ExportState.RUNNING)


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """A file that was requested or is made automatically."""

    type: str
    format: str
    name: str
    options: Mapping[str, Any]
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Export:
    id: UUID
    job_id: UUID
    type: str
    format: str
    options: Mapping[str, Any]
    name: str
    partial: bool
    state: ExportState
    reason: str
    home: str  # data folder on whose disk the file is or will be; "" for object storage
    spooled: bool  # on the disk only until object storage is available again
    rows_done: int
    rows_total: int
    blob_key: str | None  # storage key, also while it is being written; None: not started, or deleted
    size: int | None
    sha256: str | None
    created_at: datetime
    finished_at: datetime | None
    expires_at: datetime | None
    lease: UUID | None = None

    def key_of(self, token: UUID) -> str:
        """Return the storage key of a try's file, unique per try to prevent collisions, with the expected name."""
        return f"exports/{short(self.job_id)}/{short(self.id)}/{token.hex}/{self.name}"

    @property
    def kept(self) -> timedelta:
        """The retention period of the file once it is made."""
        return RESULT_KEPT if self.type == RESULT else KEPT

    @property
    def is_open(self) -> bool:
        return self.state in OPEN

    @property
    def is_there(self) -> bool:
        return self.state is ExportState.DONE and self.blob_key is not None
