"""The rungs of a new job: those requested, reduced to those available, before anything is created."""

from collections.abc import Collection, Mapping
from typing import Any

from gossamer.errors import UserError
from gossamer.model.fields import meant
from gossamer.model.rungs import DIRECT, RUNGS, Mode, names_of

_ALIASES = {"smart-hybrid": Mode.HYBRID}
_NAMED = (Mode.FREE_ONLY, Mode.HYBRID, Mode.PREMIUM_ONLY)
_HOW = "See 'gossamer job run --help' and docs/howto/choose-a-mode.md"


def choose_ladder(mode: str | None, ladder: str | None, here: Collection[str]) -> dict[str, Any]:
    """Return the parameters for a mode, a custom ladder, or neither; `here` are the available rungs."""
    if mode is not None and ladder is not None:
        raise UserError("job.mode", "Give --mode or --ladder, not both.", hint=f"{_HOW}.")
    if ladder is not None:
        return {"mode": Mode.OWN, "ladder": _read_ladder(ladder, here)}
    chosen = _read_mode(mode) if mode is not None else default_mode(here)
    if chosen is Mode.FREE_ONLY:
        return {}
    names = names_of(chosen, here)
    usable = [name for name in names if name in here]
    if not usable:
        raise UserError(
            "job.mode_not_configured",
            f"--mode {chosen} needs {names[0]}, and no provider is configured here.",
            hint="Set the key of one, or use --mode free-only.",
        )
    return {"mode": chosen, "ladder": usable}


def agreed_ladder(
    mode: str | None, ladder: str | None, params: Mapping[str, Any], here: Collection[str]
) -> dict[str, Any]:
    """Like `choose_ladder`, when the recipe's parameters may have a mode or a ladder too.

    `params` has only values that were given explicitly.
    """
    within, names = params.get("mode"), params.get("ladder")
    if within is None and not names:
        return choose_ladder(mode, ladder, here)
    if within in (None, Mode.OWN):
        chosen = choose_ladder(None, ",".join(names or [DIRECT.name]), here)
    else:
        chosen = choose_ladder(within, None, here)
        if names and names != chosen.get("ladder", [DIRECT.name]):
            raise UserError(
                "job.mode",
                f"The mode {within} and the ladder {','.join(names)} in the parameters contradict each other.",
                hint="Name the mode alone, or the ladder alone.",
            )
    if (mode is not None or ladder is not None) and choose_ladder(mode, ladder, here) != chosen:
        raise UserError(
            "job.mode",
            "The parameters name another mode or ladder than the job beside them.",
            hint="Name one of them, in one place.",
        )
    return {"mode": Mode.FREE_ONLY, "ladder": [], **chosen}


def default_mode(here: Collection[str]) -> Mode:
    """Return the default mode of jobs.

    If a provider is configured, jobs may use it for pages that the free rungs cannot get.
    """
    return Mode.HYBRID if set(names_of(Mode.HYBRID, here)) <= set(here) else Mode.FREE_ONLY


def missing_sentence(params: dict[str, Any], here: Collection[str]) -> str:
    """Describe the rungs missing from a ladder; "" if it is complete."""
    if params.get("mode") is not Mode.HYBRID:
        return ""
    missing = [name for name in names_of(Mode.HYBRID, here) if name not in here]
    return (
        f"No provider is configured here: pages that need {missing[0]} or {missing[-1]} will fail and say so."
        if missing
        else ""
    )


def _read_mode(text: str) -> Mode:
    name = text.strip().lower()
    mode = _ALIASES.get(name) or next((one for one in _NAMED if one == name), None)
    if mode is None:
        raise UserError(
            "job.mode",
            f"There is no mode {text!r}.",
            hint=f"{meant(name, _NAMED)}There are {', '.join(_NAMED[:-1])} and {_NAMED[-1]}.",
        )
    return mode


def _read_ladder(text: str, here: Collection[str]) -> list[str]:
    names = [name.strip().lower() for name in text.split(",")]
    for at, name in enumerate(names):
        if name not in RUNGS:
            raise UserError(
                "job.ladder",
                f"--ladder: there is no method {name!r}.",
                hint=f"Methods that can be used here: {', '.join(here)}.",
            )
        if name in names[:at]:
            raise UserError("job.ladder", f"--ladder has {name} twice.", hint="Name each method once, cheapest first.")
        if name not in here:
            raise UserError(
                "job.rung_not_configured",
                f"--ladder: {name} is not configured here.",
                hint=f"{_HOW} for what it needs. Methods that can be used here: {', '.join(here)}.",
            )
    return [] if names == [DIRECT.name] else names
