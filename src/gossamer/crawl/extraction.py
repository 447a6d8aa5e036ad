"""Running of extraction rules without blocking the event loop.

Plain rules on pages of ordinary size run at once in this process, which takes less time than a round trip to another.
All others run in a process that can be killed (crawl/rule_process.py). If a page uses up its time, the process is
killed and replaced, and the page fails with the name of the rule. Other pages are not affected.

There are two pools of processes. A page first goes to the quick pool: two processes with a short time limit. If it does
not finish there, it goes to the slow pool: one process with the full limit, which later pages of the same rules use
directly. Slow rules therefore wait for each other, and quick rules do not wait for slow ones. Each set of rules has
one page at a time in each pool, so that a job of many pages does not block the others. Of rules that were stopped
on several pages in a row, one page per minute is tried; the others fail at once.
"""

import asyncio
import os
import pickle
import signal
import struct
import sys
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any

import orjson

from gossamer.logging import get_logger
from gossamer.model.document import Document, Response
from gossamer.model.record import Value
from gossamer.model.trouble import Reason, Trouble

if TYPE_CHECKING:
    from gossamer.analyze.rules import Rule, Rules

LONGEST = 5.0  # CPU seconds that a page may take
_AT_FIRST = 0.1  # and in the quick pool
_AROUND = 4.0  # times as many seconds of real time, until a process is killed however little CPU time it got
_START = 60.0  # seconds that it may take to start
_NICE = 5  # lower priority of the slow pool
_HERE = 0.02  # seconds that plain rules may block the event loop
_LOOKS = 16  # calls between checks of the time
_HOPELESS = 3  # stopped pages in a row until the next ones are no longer tried,
_TRIED_AGAIN = 60.0  # seconds until one is tried again
_REMEMBERED = 1_000  # sets of rules that take long
_IDLE = 60.0  # seconds after which an idle process is ended
_ENVIRONMENT = ("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "TMPDIR", "TZ")

log = get_logger(__name__)


def bare_environment() -> dict[str, str]:
    """Return an environment without secrets, for processes that parse untrusted data."""
    return {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}


class RuleSet:
    """Extraction rules of a job. Their running times are remembered per account."""

    def __init__(self, rules: "Rules", account: str) -> None:
        # Imported here: only jobs with rules load the rule engine.
        from gossamer.analyze.rules import LARGEST, are_plain
        from gossamer.crawl.rule_process import numbered

        self.rules = rules
        self.pickled = pickle.dumps(rules)
        self.key = (account, self.pickled)  # the same rules may be slow on the pages of one account only
        self.paths = [rule.path for rule in numbered(rules)]
        self._largest = LARGEST if are_plain(rules) else -1

    def fields_now(self, doc: Document) -> "Mapping[str, Value] | Trouble | None":
        """Return the fields of a page if the rules are quick; None if another process must run them."""
        if doc.size > self._largest:
            return None
        # Imported here, as in `__init__`.
        from gossamer.analyze.rules import RuleStopped, extract

        try:
            return extract(self.rules, doc, _Stopwatch())
        except _TooLong:
            return None
        except RuleStopped as stopped:
            return Trouble(Reason.EXTRACTION, str(stopped), doc.status)


class _TooLong(Exception):
    """Plain rules have taken too long for this process."""


class _Stopwatch:
    """Check of the time before each rule: raises `_TooLong` when it is over."""

    def __init__(self) -> None:
        self._until = perf_counter() + _HERE
        self._calls = 0

    def __call__(self, _: "Rule") -> None:
        self._calls += 1
        if self._calls % _LOOKS == 0 and perf_counter() > self._until:
            raise _TooLong


class Extraction:
    """Extraction for all jobs of a worker process."""

    def __init__(self, longest: float = LONGEST, at_first: float = _AT_FIRST) -> None:
        self._quick = _Pool(2, at_first)
        self._slow = _Pool(1, longest, _NICE)
        self._slow_rules: OrderedDict[tuple[str, bytes], _History] = OrderedDict()
        self._longest = longest

    async def fields(self, rules: RuleSet, response: Response) -> "Mapping[str, Value] | Trouble":
        """Return the fields of a page, extracted in another process, or the reason why there are none."""
        record = self._slow_rules.get(rules.key)
        if record is None:
            # While a page waited for its turn, the rules may have turned out to be slow.
            answer = await self._quick.run(
                rules, response, lambda: _TOO_SLOW if rules.key in self._slow_rules else None
            )
            if not isinstance(answer, _Ended) or not answer.by_time:
                return self._result(rules, answer, response)
            record = self._slow_rules.setdefault(rules.key, _History())
            if len(self._slow_rules) > _REMEMBERED:
                self._slow_rules.popitem(last=False)
        answer = await self._slow.run(rules, response, record.known_answer)
        record.note(answer)
        return self._result(rules, answer, response)

    def _result(
        self, rules: RuleSet, answer: "dict[str, Any] | _Ended", response: Response
    ) -> "Mapping[str, Value] | Trouble":
        if isinstance(answer, _Ended):
            why = f"more than {self._longest:g} seconds of computing" if answer.by_time else "it ended its process"
            said = f'rule "{rules.paths[answer.rule]}": {why}'
            log.warning("extraction.stopped", url=response.url, said=said)
        elif "stopped" in answer:
            said = answer["stopped"]
        elif "failed" in answer:
            raise RuntimeError(f"the rules of {response.url} could not be run: {answer['failed']}")
        else:
            fields: Mapping[str, Value] = answer["fields"]
            return fields
        return Trouble(Reason.EXTRACTION, said, response.status)

    async def close(self) -> None:
        """End all processes."""
        await self._quick.close()
        await self._slow.close()


class _Ended:
    """The end of a process while it worked on a page: the rule, and whether the time was used up."""

    def __init__(self, rule: int | None, *, by_time: bool) -> None:
        """`rule` is None if no rule had begun."""
        self.had_begun = rule is not None
        self.rule = rule or 0
        self.by_time = by_time


_TOO_SLOW = _Ended(0, by_time=True)


class _History:
    """Latest outcomes of slow rules."""

    def __init__(self) -> None:
        self._stopped = 0  # pages in a row
        self._last: _Ended | None = None
        self._at = 0.0

    def note(self, answer: "dict[str, Any] | _Ended") -> None:
        if not isinstance(answer, _Ended):
            self._stopped, self._last = 0, None
        elif answer is not self._last:
            self._stopped, self._last, self._at = self._stopped + 1, answer, monotonic()

    def known_answer(self) -> _Ended | None:
        """Return the result for pages on which the rules are not tried; None if they should be tried."""
        hopeless = self._stopped >= _HOPELESS and monotonic() < self._at + _TRIED_AGAIN
        return self._last if hopeless else None


class _Pool:
    """Processes with the same time limit per page."""

    def __init__(self, processes: int, seconds: float, nice: int = 0) -> None:
        self._seconds = seconds
        self._nice = nice
        self._room = asyncio.Semaphore(processes)
        self._free: list[_Process] = []
        self._all: set[_Process] = set()
        self._turns: dict[tuple[str, bytes], asyncio.Lock] = {}
        self._waiting: dict[tuple[str, bytes], int] = {}

    async def run(
        self, rules: RuleSet, response: Response, known: Callable[[], "_Ended | None"] = lambda: None
    ) -> "dict[str, Any] | _Ended":
        """Return the answer of a process, or the one that is `known` when it is the page's turn."""
        key = rules.key
        turn = self._turns.setdefault(key, asyncio.Lock())
        self._waiting[key] = self._waiting.get(key, 0) + 1
        try:
            async with turn:
                if known_answer := known():
                    return known_answer
                async with self._room:
                    return await self._run(rules, response)
        finally:
            self._waiting[key] -= 1
            if not self._waiting[key]:
                del self._waiting[key], self._turns[key]

    async def _run(self, rules: RuleSet, response: Response) -> "dict[str, Any] | _Ended":
        if self._free:
            answer = await self._ask(self._free.pop(), rules, response)
            # If the process was killed from outside while it was idle, the page is not to blame.
            if not isinstance(answer, _Ended) or answer.by_time or answer.had_begun:
                return answer
        return await self._ask(await self._start(), rules, response)

    async def _ask(self, process: "_Process", rules: RuleSet, response: Response) -> "dict[str, Any] | _Ended":
        process.keep()
        try:
            answer = await process.ask(rules.pickled, self._seconds, response)
        except BaseException:
            # If this task is cancelled, too: the answer would be taken for that of the next page.
            await self._end(process)
            raise
        if isinstance(answer, _Ended):
            await self._end(process)
        else:
            self._free.append(process)
            process.expire(lambda: self._retire(process))
        return answer

    async def _start(self) -> "_Process":
        process = await _Process.start(self._nice)
        self._all.add(process)
        return process

    def _retire(self, process: "_Process") -> None:
        if process in self._free:
            self._free.remove(process)
            self._all.discard(process)
            process.leave()

    async def _end(self, process: "_Process") -> None:
        self._all.discard(process)
        await process.end()

    async def close(self) -> None:
        for process in list(self._all):
            await self._end(process)
        self._free.clear()


class _Process:
    def __init__(self, process: asyncio.subprocess.Process, place: Any) -> None:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the process was started without pipes")
        self._process = process
        self._questions, self._answers = process.stdin, process.stdout
        self._place = place
        self._idle: asyncio.TimerHandle | None = None

    @classmethod
    async def start(cls, nice: int) -> "_Process":
        # Imported here, as in `RuleSet`.
        from gossamer.crawl.rule_process import PLACE_BYTES, READY

        place = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the process has ended
        place.write(bytes(PLACE_BYTES))
        place.flush()
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            "gossamer.crawl.rule_process",
            "--place",
            str(place.fileno()),
            "--nice",
            str(nice),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            pass_fds=[place.fileno()],
            env=bare_environment(),
        )
        started = cls(process, place)
        try:
            async with asyncio.timeout(_START):
                await started._answers.readexactly(len(READY))
        except BaseException:
            await started.end()
            raise
        return started

    async def ask(self, rules: bytes, seconds: float, response: Response) -> "dict[str, Any] | _Ended":
        # Imported here, as in `RuleSet`.
        from gossamer.crawl.rule_process import LENGTH, NONE, PLACE, Task

        os.pwrite(self._place.fileno(), PLACE.pack(NONE), 0)
        bare = {name: value for name in ("content-type", "content-language") if (value := response.header(name))}
        body = pickle.dumps(Task(rules, seconds, response._replace(headers=bare, screenshot=b"")))
        try:
            async with asyncio.timeout(seconds * _AROUND):
                self._questions.write(LENGTH.pack(len(body)) + body)
                await self._questions.drain()
                (length,) = LENGTH.unpack(await self._answers.readexactly(LENGTH.size))
                answer: dict[str, Any] = orjson.loads(await self._answers.readexactly(length))
        except TimeoutError:
            return _Ended(self._rule(), by_time=True)
        except (asyncio.IncompleteReadError, ConnectionError, struct.error):
            await self._process.wait()
            return _Ended(self._rule(), by_time=self._process.returncode == -signal.SIGPROF)
        return answer

    def _rule(self) -> int | None:
        # Imported here, as in `RuleSet`.
        from gossamer.crawl.rule_process import NONE, PLACE

        rule = int(PLACE.unpack(os.pread(self._place.fileno(), PLACE.size, 0))[0])
        return None if rule == NONE else rule

    def keep(self) -> None:
        if self._idle:
            self._idle.cancel()
            self._idle = None

    def expire(self, retire: Any) -> None:
        self._idle = asyncio.get_running_loop().call_later(_IDLE, retire)

    def leave(self) -> None:
        """Let an idle process end, without waiting for it."""
        self._questions.close()
        self._place.close()

    async def end(self) -> None:
        self.keep()
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
        self._place.close()
