"""Many seeds one after the other, and a table of what happened to them."""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from tests.chaos.ground import LONG, Ground
from tests.chaos.harms import HARMS, POSTGRES
from tests.chaos.means import unavailable
from tests.chaos.plan import Plan, plan_of
from tests.chaos.postgres import PostgresServer, postgres_server
from tests.chaos.reference import Reference, undisturbed
from tests.chaos.trial import Outcome, Trial


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    seeds = range(options.first, options.first + options.seeds)
    outcomes = []
    since = time.monotonic()
    with Arena(LONG) as arena:
        for seed in seeds:
            outcome = arena.try_plan(plan_of(seed))
            _say(_line(outcome))
            outcomes.append(outcome)
    _summarise(outcomes, time.monotonic() - since)
    return 1 if any(outcome.problems or outcome.missing for outcome in outcomes) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos", description="Harm jobs at work and see that nothing is lost."
    )
    parser.add_argument("--seeds", type=int, default=20, help="how many")
    parser.add_argument("--first", type=int, default=1, help="the first of them; with --seeds 1, the one to repeat")
    return parser


class Arena:
    """What seeds share: the undisturbed runs, and the Postgres server of those that need one."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._folder = Path(tempfile.mkdtemp(prefix="gossamer-chaos-"))
        self._reference: Reference | None = None
        self._reasons = {name: unavailable(name) for name in HARMS}
        self._server: PostgresServer | None = None
        self._stack = ExitStack()

    def __enter__(self) -> "Arena":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        shutil.rmtree(self._folder / "calm", ignore_errors=True)
        if not any(self._folder.iterdir()):
            self._folder.rmdir()

    def try_plan(self, plan: Plan) -> Outcome:
        """All of it that can be done here; the rest is named. The home of a seed that failed is kept."""
        missing = {name: reason for name in sorted(plan.harms) if (reason := self._reasons[name])}
        plan = plan.without(missing)
        if not plan.strikes:
            return Outcome(plan, missing=_named(missing))
        server = self._postgres() if plan.database == POSTGRES else None
        folder = self._folder / f"seed-{plan.seed}"
        folder.mkdir()
        outcome = Trial(plan, self._ground, folder, self._undisturbed(), server).run()
        outcome.missing = _named(missing)
        if outcome.problems:
            outcome.problems.append(f"everything about it is in {folder}")
        else:
            shutil.rmtree(folder)
        return outcome

    def _postgres(self) -> PostgresServer:
        if self._server is None:
            self._server = self._stack.enter_context(postgres_server())
        return self._server

    def _undisturbed(self) -> Reference:
        """One for all: the same job leaves the same on either database."""
        if self._reference is None:
            self._reference = undisturbed(self._ground, self._folder / "calm")
            _say(f"undisturbed: {self._reference.pages} pages in {self._reference.seconds:.1f} s")
        return self._reference


def _named(missing: Mapping[str, str]) -> list[str]:
    return [f"{name} cannot be done here: {reason}" for name, reason in missing.items()]


def _line(outcome: Outcome) -> str:
    plan = outcome.plan
    harms = ", ".join(outcome.done) or "none"
    missed = len(plan.strikes) - len(outcome.done)
    recovery = " ".join(f"{seconds:.1f}" for _, seconds in outcome.recovery) or "-"
    line = (
        f"seed {plan.seed:>3} {plan.database:<8} {harms}{f' ({missed} too late)' if missed else ''}: "
        f"kills {outcome.kills}, resumes {outcome.resumes}, again {outcome.again} of {outcome.allowed}, "
        f"recovered in {recovery} s, leases lost {outcome.lost}, {outcome.seconds:.0f} s"
    )
    problems = [f"  FAILED: {problem}" for problem in (*outcome.missing, *outcome.problems)]
    if problems:
        problems.append(f"  repeat with: make chaos SEEDS=1 FIRST={plan.seed}")
    return "\n".join([line, *problems])


def _summarise(outcomes: list[Outcome], seconds: float) -> None:
    recovery = [one for outcome in outcomes for one in outcome.recovery]
    _say(f"\n{'harm':<18}{'times':>6}{'recovered after, at worst':>28}")
    for name in HARMS:
        times = sum(outcome.done.count(name) for outcome in outcomes)
        seconds_of = [seconds for harm, seconds in recovery if harm == name]
        _say(f"{name:<18}{times:>6}{f'{max(seconds_of):.1f} s' if seconds_of else '-':>28}")
    failed = [outcome.plan.seed for outcome in outcomes if outcome.problems or outcome.missing]
    kills, again, allowed = (
        sum(numbers) for numbers in zip(*((one.kills, one.again, one.allowed) for one in outcomes), strict=True)
    )
    _say(
        f"\n{len(outcomes)} seeds in {seconds / 60:.1f} min: {kills} kills, {again} pages fetched again "
        f"(allowed {allowed}), recovered after {max((one for _, one in recovery), default=0.0):.1f} s at worst"
    )
    _say(f"failed: {', '.join(map(str, failed))}" if failed else "none failed")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
