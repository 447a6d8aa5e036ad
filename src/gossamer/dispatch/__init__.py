"""Nudges from the issuer to the workers."""

from gossamer.dispatch.seam import Dispatcher, Nudge

__all__ = ["Dispatcher", "Nudge"]
