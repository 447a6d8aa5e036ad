"""An alert is told in its own sentence, and what to look at next stands below it."""

from datetime import UTC, datetime
from uuid import UUID

from gossamer.cli.system import next_step
from gossamer.model.alert import SYSTEM, Alert, AlertKind

AT = datetime(2026, 1, 18, tzinfo=UTC)


def _alert(kind: AlertKind, job: UUID | None = None) -> Alert:
    return Alert(UUID(int=1), kind, SYSTEM, "Alert.", AT, job)


def test_an_alert_about_errors_names_the_command_that_shows_them() -> None:
    assert "'gossamer job errors last'" in next_step(_alert(AlertKind.ERRORS))
    assert "'gossamer job errors 000000ff'" in next_step(_alert(AlertKind.ERRORS, UUID(int=255)))
    assert next_step(_alert(AlertKind.DISK)) == ""
