"""Whether the operator's own proxy can be used: a trouble of ours, not of any site."""

from gossamer.clock import Clock


class Outage:
    """Of one process. It begins with the first request the proxy does not take, and ends with the first it takes."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: float | None = None
        self.why = ""  # of the last request it did not take

    def begin(self, why: str) -> None:
        self.why = why
        if self._since is None:
            self._since = self._clock.monotonic()

    def end(self) -> None:
        self._since = None

    def lasts(self) -> float:
        """Seconds; 0 while there is none."""
        return 0.0 if self._since is None else self._clock.monotonic() - self._since
