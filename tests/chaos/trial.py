"""One job and what is done to it: started, harmed, resumed where it ended, and held against the undisturbed one."""

import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil

from gossamer.settle.settler import MOST_WAITING
from gossamer_sandbox.web.proof import smallest_gaps
from tests.chaos.ground import LEASE, PROCESSES, Ground
from tests.chaos.harms import HARMS, Harm, Scene
from tests.chaos.means import clock_settings, small_disk
from tests.chaos.outcome import Outcome, Stuck
from tests.chaos.plan import Plan, Strike
from tests.chaos.postgres import PostgresServer
from tests.chaos.reference import Reference, differences, fetched_again, impolite, what_is_left
from tests.chaos.rows import Look, Rows
from tests.chaos.zombies import lost_leases, written_unheld
from tests.stories.program import Terminal, Web

_LONGEST = 180.0  # seconds after which a job hangs rather than runs
_MOST_RESUMES = 12
_GLANCE = 0.05
_UNSETTLED = 2 * MOST_WAITING  # pages a process may forget: those that wait for a commit, and those being committed


class Trial:
    """A plan at work in a folder of its own, in one home. A cluster's differs in what is started and looked after."""

    harms: Mapping[str, Harm[Any]] = HARMS

    def __init__(
        self, plan: Plan, ground: Ground, folder: Path, reference: Reference, server: PostgresServer | None
    ) -> None:
        self._plan = plan
        self._ground = ground
        self._folder = folder
        self._home = folder / "home"
        self._clock = folder / "clock"
        self._said = folder / "said.txt"
        self._reference = reference
        self._server = server
        self._dice = random.Random(f"harm {plan.seed}")
        self._outcome = Outcome(plan)
        self._until = 0.0

    def run(self) -> Outcome:
        since = time.monotonic()
        self._until = since + _LONGEST
        with ExitStack() as stack:
            web = stack.enter_context(self._ground.web(self._folder / "web"))
            try:
                self._start(stack, web)
                for strike in self._plan.strikes:
                    self._strike(strike)
                job = self._wait(lambda look: False).job
                self._judge(job, web)
            except (Stuck, AssertionError, subprocess.SubprocessError) as trouble:
                self._outcome.problems.append(str(trouble))
        self._outcome.seconds = time.monotonic() - since
        return self._outcome

    def _start(self, stack: ExitStack, web: Web) -> None:
        if self._plan.small_disk:
            stack.enter_context(small_disk(self._home))
        self._open(web)
        stack.callback(self._rows.close)
        self._program = self._begin(*self._terminal.prospect(*PROCESSES))
        stack.callback(self._end)

    def _open(self, web: Web) -> None:
        settings = dict(self._ground.settings)
        if self._plan.false_clock:
            settings |= clock_settings(self._clock)
        self._rows = Rows(self._home / "gossamer.db")
        if self._server:
            url = settings["GOSSAMER_DATABASE_URL"] = self._server.create(f"seed_{self._plan.seed}")
            self._rows = Rows(url)
        self._terminal = Terminal(self._home, web, settings)
        if self._server:
            self._terminal.type("db", "upgrade")

    def _begin(self, *arguments: str) -> "subprocess.Popen[bytes]":
        with self._said.open("ab") as said:
            return subprocess.Popen(
                [sys.executable, "-m", "gossamer", *arguments],
                env=self._terminal.environment(),
                stdout=said,
                stderr=said,
                start_new_session=True,
            )

    def _end(self) -> None:
        if self._program.poll() is None:
            self._program.kill()
        self._program.wait(20)

    def _strike(self, strike: Strike) -> None:
        """Do one harm at its moment, and see how long the job takes to settle another page."""
        target = strike.share * self._reference.pages
        self._wait(lambda look: look.settled >= target)
        time.sleep(strike.seconds)
        before = self._do(strike.harm)
        if before is None:
            return
        self._outcome.done.append(strike.harm)
        self._outcome.allowed += self.harms[strike.harm].forgets * _UNSETTLED + before.running
        if strike.recovered:
            since = time.monotonic()
            settled = (self._rows.look() or before).settled
            self._wait(lambda look: look.settled > settled)
            self._outcome.recovery.append((strike.harm, time.monotonic() - since))

    def _do(self, harm: str) -> Look | None:
        """How far the job was when it was harmed; None if it was completed before."""
        while True:
            before = self._wait(lambda look: self._works())
            if before.state == "completed":
                return None
            try:
                self.harms[harm].do(self._scene())
            except psutil.NoSuchProcess:
                time.sleep(_GLANCE)
            else:
                return before

    def _scene(self) -> Any:
        return Scene(self._dice, self._server, self._rows, self._program, self._home, LEASE, self._clock)

    def _wait(self, enough: Callable[[Look], bool]) -> Look:
        """Look at the job until it is as wanted or completed, and look after whoever works it meanwhile."""
        while time.monotonic() < self._until:
            look = self._rows.look()
            if look and (enough(look) or self._is_over(look)):
                return look
            self._look_after(look)
            time.sleep(_GLANCE)
        raise Stuck(f"not completed after {_LONGEST:g} s: {self._rows.look()}")

    def _works(self) -> bool:
        """Whether there is anybody to be harmed."""
        return self._program.poll() is None

    def _is_over(self, look: Look) -> bool:
        return look.state == "completed" and not self._works()

    def _look_after(self, look: Look | None) -> None:
        """The job is resumed whenever its program has ended before it has."""
        if self._works() or look is None:
            return
        self._outcome.resumes += 1
        if self._outcome.resumes > _MOST_RESUMES:
            raise Stuck(f"resumed {_MOST_RESUMES} times and still {look}")
        self._program = self._begin("job", "resume", look.job, *PROCESSES)

    def _judge(self, job: str, web: Web) -> None:
        problems = self._outcome.problems
        audit = self._terminal.type("job", "audit", job, check=False)
        if audit.returncode:
            problems.append(f"the audit ended with {audit.returncode}: {audit.stdout.strip()} {audit.stderr.strip()}")
        # What a library logs has one in its line; a person is shown one that begins a line.
        if re.search(r"^Traceback", self._said.read_text(), re.MULTILINE):
            problems.append(f"a person was shown a traceback: see {self._said.name}")
        events, pages = self._rows.story()
        problems += written_unheld(events, pages)
        self._outcome.lost, self._outcome.refused = lost_leases(events), self._log().count(" leases.lost ")
        left = what_is_left(self._terminal, job, web)
        problems += differences(left, self._reference.left)
        problems += impolite(web, self._ground)
        self._outcome.closest = min(smallest_gaps(web.log).values())
        self._outcome.again = fetched_again(left, self._reference.left)
        if self._outcome.again > self._outcome.allowed:
            problems.append(f"{self._outcome.again} pages were fetched again, allowed are {self._outcome.allowed}")

    def _log(self) -> str:
        return (self._home / "logs" / "gossamer.log").read_text()
