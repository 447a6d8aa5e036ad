"""Taking addresses out of what a walk has noted, so that it can still be taken up again."""

import zlib
from collections.abc import Callable

import orjson

from gossamer.frontier.notes import Notes


def notes_without(packed: bytes, unwanted: Callable[[str], bool]) -> bytes | None:
    """A site's notes without such addresses; None if there are none."""
    notes = Notes.unpack(packed)
    gone = [url for url in notes.candidates if unwanted(url)]
    changed = bool(gone)
    notes.drop(gone)
    for url, one in list(notes.candidates.items()):
        if one.found_on and unwanted(one.found_on):
            notes.candidates[url] = one._replace(found_on="")
            changed = True
    return notes.pack() if changed else None


def links_without(packed: bytes, unwanted: Callable[[str], bool], home: str) -> bytes | None:
    """A page's links without such addresses; None if there are none.

    Other pages name them by their number, so each leaves the homepage in its place, which no walk ever chooses again.
    """
    first, fresh, numbers = orjson.loads(packed if packed[:1] == b"[" else zlib.decompress(packed))
    kept = [home if unwanted(link) else link for link in fresh]
    return zlib.compress(orjson.dumps([first, kept, numbers]), 1) if kept != fresh else None
