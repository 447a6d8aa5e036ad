"""All rungs there are, and the modes: ladders that have a name."""

from collections.abc import Collection, Sequence
from datetime import timedelta
from enum import StrEnum

from gossamer.model.fetching import DIRECT, RUNGS, Ladder, Rung
from gossamer.model.rungs import OWN_SERVERS, PROVIDER_RUNGS, provider_of

__all__ = ["RUNGS", "Mode", "ladder_of", "names_of", "premium_rung"]

_PAGE_LOAD = timedelta(seconds=60)

for _rung in (
    Rung("browser", "browser", timeout=_PAGE_LOAD, renders=True),
    Rung("stealth", "stealth", timeout=_PAGE_LOAD, renders=True),
    *PROVIDER_RUNGS.values(),
):
    RUNGS.add(_rung)


class Mode(StrEnum):
    """A ladder people ask for by name; `own` is one they have written themselves."""

    FREE_ONLY = "free-only"
    HYBRID = "hybrid"
    PREMIUM_ONLY = "premium-only"
    OWN = "own"


# Who fetches for money, best first: what `hybrid` climbs, and what `premium-only` renders everything with.
_PROVIDERS = (
    (("scrapingbee-standard", "scrapingbee-js"), "scrapingbee-js"),
    (("scraperapi", "scraperapi-js"), "scraperapi-js"),
    (("firecrawl",), "firecrawl"),
)


def names_of(mode: Mode, here: Collection[str]) -> tuple[str, ...]:
    """The whole ladder of a mode, with the first provider that can be used here, or the best one where none can.

    `hybrid` asks a FlareSolverr of the operator's own before anything paid.
    """
    usable = [one for one in _PROVIDERS if one[1] in here]
    climbs, renders = (usable or _PROVIDERS)[0]
    match mode:
        case Mode.HYBRID:
            own = tuple(name for name in RUNGS if name in OWN_SERVERS and name in here)
            # With a server of one's own and no provider, no provider is missing.
            return (DIRECT.name, *own, *(climbs if usable or not own else ()))
        case Mode.PREMIUM_ONLY:
            return (renders,)
        case Mode.FREE_ONLY | Mode.OWN:
            return (DIRECT.name,)


def premium_rung(names: Sequence[str]) -> str:
    """What `premium-only` would render everything with, at the provider of a ladder; nothing if it has none."""
    used = {provider_of(name) for name in names}
    return next((renders for _, renders in _PROVIDERS if provider_of(renders) in used), "")


def ladder_of(mode: Mode, names: Sequence[str]) -> Ladder:
    """A job's ladder as it was cut when the job was created, and what was cut off it."""
    rungs = tuple(RUNGS[name] for name in names) or (DIRECT,)
    cut = [name for name in names_of(mode, ()) if name not in names] if mode is Mode.HYBRID and len(rungs) == 1 else ()
    return Ladder(rungs, tuple(RUNGS[name] for name in cut))
