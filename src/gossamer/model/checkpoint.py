"""What the counters of a job said at a certain moment."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from gossamer.model.states import JobState


class CheckpointCause(StrEnum):
    VISITS = "visits"  # enough of them have ended since the last one
    PAUSE = "pause"
    SHUTDOWN = "shutdown"  # of the runner, with the job still running
    END = "end"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    at: datetime
    cause: CheckpointCause
    state: JobState
    sites_total: int
    sites_done: int
    sites_failed: int
    sites_partial: int
    pages_done: int
    pages_failed: int
    pages_skipped: int
    records: int
    last_at: datetime | None  # when the counters had last changed

    @property
    def sites_finished(self) -> int:
        return self.sites_done + self.sites_failed + self.sites_partial
