"""Instants as they stand in files: ISO 8601, UTC, to the second."""

from datetime import UTC, datetime


def iso(at: datetime | None) -> str | None:
    return None if at is None else f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
