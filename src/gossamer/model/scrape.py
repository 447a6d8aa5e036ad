"""What can be had of a page."""

from gossamer.model.rungs import Lane

FORMATS = ("html", "raw", "text", "markdown", "links", "metadata", "structured", "extract", "screenshot")
"""All there are, by the names people ask for them."""

EXTRACT, SCREENSHOT = "extract", "screenshot"

IN_FILES = ("html", "raw", "screenshot")
"""Those that are kept in files, for a day. The others are part of the record."""

SHOOTING_LANES = frozenset({Lane.BROWSER, Lane.STEALTH})
"""Where pages are shown, so that a picture can be taken."""
