"""Structured logging: one event per change, as a line for people or JSON for programs."""

from gossamer.logging.log import Log, bind, bound, configure, get_logger

__all__ = ["Log", "bind", "bound", "configure", "get_logger"]
