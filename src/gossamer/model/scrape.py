"""Outputs available for a page."""

from gossamer.model.rungs import Lane

FORMATS = ("html", "raw", "text", "markdown", "links", "metadata", "structured", "extract", "screenshot")
"""All formats, by the names used in requests."""

EXTRACT, SCREENSHOT = "extract", "screenshot"

SHOOTING_LANES = frozenset({Lane.BROWSER, Lane.STEALTH})
"""Lanes with a browser, which can take screenshots."""
