"""Ladders: rungs in the order in which they are tried. A mode is a ladder that has a name."""

from collections.abc import Collection, Sequence, Set
from dataclasses import dataclass, replace
from enum import StrEnum

from gossamer.model.rungs import DIRECT, RUNGS, Rung, provider_of


@dataclass(frozen=True, slots=True)
class Ladder:
    """Rungs in the order they are tried, and requested rungs that are not available in this installation."""

    rungs: tuple[Rung, ...] = (DIRECT,)
    missing: tuple[Rung, ...] = ()

    @property
    def first(self) -> Rung:
        return self.rungs[0]

    def above(self, name: str, *, rendering: bool = False) -> Rung | None:
        """The next rung after the one named, or the next that renders, if there is one."""
        names = [rung.name for rung in self.rungs]
        higher = self.rungs[names.index(name) + 1 :]
        return next((rung for rung in higher if rung.renders or not rendering), None)

    def beyond(self, name: str) -> Rung | None:
        """The next rung of another provider that brings no less, for when the provider of the one named is away."""
        names = [rung.name for rung in self.rungs]
        here = self.named(name)
        others = (rung for rung in self.rungs[names.index(name) + 1 :] if _serves(rung) != _serves(here))
        return next((rung for rung in others if rung.renders or not here.renders), None)

    def without(self, names: Set[str]) -> "Ladder":
        """The same without some of its rungs."""
        return replace(self, rungs=tuple(rung for rung in self.rungs if rung.name not in names)) if names else self

    def lacks(self, *, rendering: bool = False) -> Rung | None:
        """Return the first missing rung that would have been next if it were available; None if there is none."""
        return next((rung for rung in self.missing if rung.renders or not rendering), None)

    def named(self, name: str) -> Rung:
        return next(rung for rung in self.rungs if rung.name == name)


def _serves(rung: Rung) -> str:
    return provider_of(rung.name) or rung.name


class Mode(StrEnum):
    """A ladder people ask for by name; `own` is one they have written themselves."""

    FREE_ONLY = "free-only"
    HYBRID = "hybrid"
    PREMIUM_ONLY = "premium-only"
    OWN = "own"


@dataclass(frozen=True, slots=True)
class _Paid:
    """Rungs of a provider in the modes: those that `hybrid` climbs, and the one of `premium-only`."""

    climbs: tuple[str, ...]
    renders: str  # "" where it renders nothing

    @property
    def best(self) -> str:
        return self.renders or self.climbs[-1]


def _paid() -> list[_Paid]:
    """Of all providers, the preferred one first."""
    found: dict[str, list[Rung]] = {}
    for rung in RUNGS.values():
        if rung.in_hybrid or rung.in_premium:
            found.setdefault(_serves(rung), []).append(rung)
    return [
        _Paid(
            tuple(rung.name for rung in rungs if rung.in_hybrid),
            next((rung.name for rung in rungs if rung.in_premium), ""),
        )
        for rungs in found.values()
    ]


def names_of(mode: Mode, here: Collection[str]) -> tuple[str, ...]:
    """The whole ladder of a mode, with the first provider that can be used here, or the best one where none can.

    `hybrid` asks a server of the operator's own before anything paid.
    """
    paid = [one for one in _paid() if one.renders or mode is not Mode.PREMIUM_ONLY]
    usable = [one for one in paid if one.best in here]
    chosen = (usable or paid)[0]
    match mode:
        case Mode.HYBRID:
            own = tuple(name for name, rung in RUNGS.items() if rung.is_own_server and name in here)
            # With a server of one's own and no provider, no provider is missing.
            return (DIRECT.name, *own, *(chosen.climbs if usable or not own else ()))
        case Mode.PREMIUM_ONLY:
            return (chosen.renders,)
        case Mode.FREE_ONLY | Mode.OWN:
            return (DIRECT.name,)


def premium_rung(names: Sequence[str]) -> str:
    """Return the rung on which `premium-only` would render everything, at the ladder's provider; "" if none."""
    used = {provider_of(name) for name in names}
    return next((one.renders for one in _paid() if one.renders and provider_of(one.renders) in used), "")


def ladder_of(mode: Mode, names: Sequence[str]) -> Ladder:
    """A job's ladder as it was cut when the job was created, and what was cut off it."""
    rungs = tuple(RUNGS[name] for name in names) or (DIRECT,)
    cut = [name for name in names_of(mode, ()) if name not in names] if mode is Mode.HYBRID and len(rungs) == 1 else ()
    return Ladder(rungs, tuple(RUNGS[name] for name in cut))
