"""Outputs available for a page."""

from gossamer.model.rungs import Lane

FORMATS = ("html", "raw", "text", "markdown", "links", "metadata", "structured", "extract", "screenshot")
"""All there are, by the names people ask for them."""

EXTRACT, SCREENSHOT = "extract", "screenshot"

SHOOTING_LANES = frozenset({Lane.BROWSER, Lane.STEALTH})
"""Where pages are shown, so that a picture can be taken."""
