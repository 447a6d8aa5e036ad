"""What the program says about itself: one event per change, as a line for people or JSON for programs."""

from gossamer.telemetry.log import Log, bind, bound, get_logger
from gossamer.telemetry.setup import configure

__all__ = ["Log", "bind", "bound", "configure", "get_logger"]
