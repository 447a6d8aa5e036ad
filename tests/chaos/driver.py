"""Many seeds one after the other, and a table of what happened to them."""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from tests.chaos.cluster_harms import CLUSTER_HARMS
from tests.chaos.cluster_trial import CAP, ClusterTrial
from tests.chaos.cuts import CUTS, Cut, Seen, cut_home, cut_worker, line
from tests.chaos.ground import CLUSTER_GROUND, LONG, Ground
from tests.chaos.harms import HARMS, POSTGRES
from tests.chaos.machines import no_namespaces, open_machines
from tests.chaos.means import unavailable
from tests.chaos.outcome import Outcome
from tests.chaos.plan import Plan, cluster_plan_of, plan_of
from tests.chaos.postgres import PostgresServer, postgres_server
from tests.chaos.reference import Reference, undisturbed
from tests.chaos.trial import Trial
from tests.servers import redis

_QUICK = 20  # requests per second and domain
_DURABLE = ("--appendonly", "yes", "--appendfsync", "always")


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.cuts:
        return _cut_networks()
    seeds = range(options.first, options.first + options.seeds)
    outcomes = []
    since = time.monotonic()
    form = CLUSTER_FORM if options.cluster else HOME_FORM
    with form.open() as arena:
        for seed in seeds:
            outcome = arena.try_plan(form.plan_of(seed))
            _say(_line(outcome, form))
            outcomes.append(outcome)
    _summarise(outcomes, time.monotonic() - since, form)
    return 1 if any(outcome.problems or outcome.missing for outcome in outcomes) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos", description="Harm jobs at work and see that nothing is lost."
    )
    parser.add_argument("--cluster", action="store_true", help="three instances on Postgres and Redis, not one home")
    parser.add_argument("--cuts", action="store_true", help="instead, cut the network of jobs for 5, 25 and 120 s")
    parser.add_argument("--seeds", type=int, default=20, help="how many")
    parser.add_argument("--first", type=int, default=1, help="the first of them; with --seeds 1, the one to repeat")
    return parser


class CutArena:
    """What jobs whose network is cut share: machines, servers, and the undisturbed run."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="gossamer-cuts-")))
        self._machines = self._stack.enter_context(open_machines(namespaces=not no_namespaces()))
        self._server = self._stack.enter_context(postgres_server())
        self._redis = self._stack.enter_context(redis(self._folder / "redis", *_DURABLE))
        self._reference = undisturbed(replace(CLUSTER_GROUND, rate=_QUICK), self._folder / "calm")
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def home(self, cut: Cut) -> Seen:
        return cut_home(cut, self._new_folder(), self._machines[0], self._reference)

    def worker(self, cut: Cut) -> Seen:
        folder = self._new_folder()
        return cut_worker(cut, folder, self._machines, self._server, self._redis, self._reference)

    def _new_folder(self) -> Path:
        folder = self._folder / f"cut-{len(list(self._folder.iterdir()))}"
        folder.mkdir()
        return folder


def _cut_networks() -> int:
    failed = 0
    with CutArena() as arena:
        for cut in CUTS:
            for name, harm in (("home", arena.home), ("one worker of three", arena.worker)):
                seen = harm(cut)
                _say(line(name, cut, seen))
                failed += bool(seen.problems)
    _say(f"{failed} failed" if failed else "none failed")
    return 1 if failed else 0


class Arena:
    """What seeds share: the undisturbed runs, and the Postgres server of those that need one."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._folder = Path(tempfile.mkdtemp(prefix="gossamer-chaos-"))
        self._calm_rate = ground.rate
        self._reference: Reference | None = None
        self._server: PostgresServer | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        shutil.rmtree(self._folder / "calm", ignore_errors=True)
        if not any(self._folder.iterdir()):
            self._folder.rmdir()

    def try_plan(self, plan: Plan) -> Outcome:
        """All of it that can be done here; the rest is named. The home of a seed that failed is kept."""
        missing = {name: reason for name in sorted(plan.harms) if (reason := unavailable(name))}
        plan = plan.without(missing)
        if not plan.strikes:
            return Outcome(plan, missing=_named(missing))
        folder = self._folder / f"seed-{plan.seed}"
        folder.mkdir()
        outcome = self._trial(plan, folder).run()
        outcome.missing = _named(missing)
        if outcome.problems:
            outcome.problems.append(f"everything about it is in {folder}")
        else:
            shutil.rmtree(folder)
        return outcome

    def _trial(self, plan: Plan, folder: Path) -> Trial:
        server = self._postgres() if plan.database == POSTGRES else None
        return Trial(plan, self._ground, folder, self._undisturbed(), server)

    def _postgres(self) -> PostgresServer:
        if self._server is None:
            self._server = self._stack.enter_context(postgres_server())
        return self._server

    def _undisturbed(self) -> Reference:
        """One for all: the same job leaves the same on either database."""
        if self._reference is None:
            self._reference = undisturbed(replace(self._ground, rate=self._calm_rate), self._folder / "calm")
            _say(f"undisturbed: {self._reference.pages} pages in {self._reference.seconds:.1f} s")
        return self._reference


class ClusterArena(Arena):
    """The servers of a cluster, and its machines."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self._calm_rate = _QUICK  # what is left does not depend on it

    def __enter__(self) -> Self:
        reason = no_namespaces()
        self._machines = self._stack.enter_context(open_machines(namespaces=not reason))
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="gossamer-chaos-redis-"))
        self._redis = self._stack.enter_context(redis(Path(folder), *_DURABLE))
        kind = f"loopback addresses: {reason}" if reason else "network namespaces"
        _say(f"{len(self._machines)} machines, which are {kind}")
        return self

    def _trial(self, plan: Plan, folder: Path) -> Trial:
        calm = self._undisturbed()
        return ClusterTrial(plan, self._ground, folder, calm, self._postgres(), self._redis, self._machines)


@dataclass(frozen=True, slots=True)
class Form:
    """Of the whole system: what it is called, how it is opened, and what can be done to it."""

    target: str  # of make
    open: Callable[[], Arena]
    plan_of: Callable[[int], Plan]
    harms: Iterable[str]
    shared: bool = False  # whether workers share a cap and a spacing


HOME_FORM = Form("chaos", lambda: Arena(LONG), plan_of, HARMS)
CLUSTER_FORM = Form("chaos-cluster", lambda: ClusterArena(CLUSTER_GROUND), cluster_plan_of, CLUSTER_HARMS, shared=True)


def _named(missing: Mapping[str, str]) -> list[str]:
    return [f"{name} cannot be done here: {reason}" for name, reason in missing.items()]


def _line(outcome: Outcome, form: Form) -> str:
    plan = outcome.plan
    harms = ", ".join(outcome.done) or "none"
    missed = len(plan.strikes) - len(outcome.done)
    recovery = " ".join(f"{seconds:.1f}" for _, seconds in outcome.recovery) or "-"
    shared = f"at most {outcome.in_hand} of {CAP} visits at a time, " if form.shared else f"resumes {outcome.resumes}, "
    line = (
        f"seed {plan.seed:>3} {plan.database:<8} {harms}{f' ({missed} too late)' if missed else ''}: "
        f"kills {outcome.kills}, {shared}again {outcome.again} of {outcome.allowed}, "
        f"a domain after {outcome.closest:.3f} s at the soonest, "
        f"recovered in {recovery} s, leases lost {outcome.lost}, {outcome.seconds:.0f} s"
    )
    problems = [f"  FAILED: {problem}" for problem in (*outcome.missing, *outcome.problems)]
    if problems:
        problems.append(f"  repeat with: make {form.target} SEEDS=1 FIRST={plan.seed}")
    return "\n".join([line, *problems])


def _summarise(outcomes: list[Outcome], seconds: float, form: Form) -> None:
    recovery = [one for outcome in outcomes for one in outcome.recovery]
    _say(f"\n{'harm':<18}{'times':>6}{'recovered after, at worst':>28}")
    for name in form.harms:
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
    if form.shared:
        closest = min((one.closest for one in outcomes if one.closest), default=0.0)
        most = max(one.in_hand for one in outcomes)
        _say(f"a domain was asked again after {closest:.3f} s at the soonest; at most {most} of {CAP} visits at a time")
    _say(f"failed: {', '.join(map(str, failed))}" if failed else "none failed")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
