"""Common parts of all emulated providers: keys, credits, a limit on concurrent calls, a bill, and outages.

Besides its own interface every emulator has endpoints under `/_emulator/`: `bill` and `state` to
read, `storm` to start an outage from another process.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field

import orjson

from gossamer_sandbox.providers.bill import Bill, Entry
from gossamer_sandbox.providers.storms import Kind, Storm, Storms
from gossamer_sandbox.providers.target import Target
from gossamer_sandbox.providers.wire import Answer, Request, json_answer

CONTROL = "/_emulator/"


@dataclass(frozen=True, slots=True)
class Sale:
    """An answer and what it costs."""

    answer: Answer
    target: str = ""
    credits: int = 0
    way: str = ""


@dataclass(slots=True)
class Shop:
    """The state of one emulated provider."""

    target: Target
    key: str = "secret-key-of-a-test"
    credits: int = 1_000_000  # of the plan
    at_once: int = 5
    delay: float = 0.0  # seconds every call takes at least
    bill: Bill = field(default_factory=Bill)
    storms: Storms = field(default_factory=Storms)
    running: int = 0
    most: int = 0  # calls that were under way at once; those that were refused for it count too

    @property
    def left(self) -> int:
        return max(0, self.credits - self.bill.total)

    async def sell(
        self,
        make: Callable[[], Awaitable[Sale]],
        refuse: Callable[[int], Answer],
        garble: Callable[[Answer], Answer],
        *,
        seats: asyncio.Semaphore | None = None,
    ) -> Answer:
        """One call from its beginning to its line on the bill.

        `refuse` writes the provider's own error for a status, `garble` spoils an answer the way this provider's would
        be spoiled. With `seats`, calls beyond the limit wait instead of being refused.
        """
        if seats is not None:
            async with seats:
                return await self._counted(make, refuse, garble)
        return await self._counted(make, refuse, garble)

    async def _counted(
        self,
        make: Callable[[], Awaitable[Sale]],
        refuse: Callable[[int], Answer],
        garble: Callable[[Answer], Answer],
    ) -> Answer:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            if self.running > self.at_once:
                return self._free(refuse(429))
            storm = self.storms.next()
            if storm is not None and storm.kind is Kind.STATUS:
                return self._free(refuse(storm.status))
            if storm is not None and storm.kind is Kind.NOT_HTTP:
                return Answer(0, raw=b"SSH-2.0-OpenSSH_9.2p1 Debian\r\n\r\n")
            await asyncio.sleep(self.delay + (storm.seconds if storm else 0.0))
            return self._billed(await make(), storm, garble)
        finally:
            self.running -= 1

    def _free(self, answer: Answer) -> Answer:
        self.bill.add(Entry(time.time(), "", 0, answer.status))
        return answer

    def _billed(self, sale: Sale, storm: Storm | None, garble: Callable[[Answer], Answer]) -> Answer:
        answer = sale.answer
        self.bill.add(Entry(time.time(), sale.target, sale.credits, answer.status, sale.way))
        if storm is not None and storm.kind is Kind.MALFORMED:
            return garble(answer)
        if storm is not None and storm.kind is Kind.CUT:
            headers = "".join(f"{name}: {value}\r\n" for name, value in answer.headers)
            promised = f"HTTP/1.1 {answer.status} OK\r\n{headers}Content-Length: {len(answer.body) + 1}\r\n\r\n"
            return Answer(answer.status, raw=promised.encode("latin-1") + answer.body[: len(answer.body) // 2])
        return answer

    def control(self, request: Request) -> Answer | None:
        """Return the emulator's own data; None for a request to the provider."""
        if not request.path.startswith(CONTROL):
            return None
        match request.method, request.path.removeprefix(CONTROL):
            case "GET", "bill":
                return json_answer(200, [asdict(entry) for entry in self.bill.entries])
            case "GET", "state":
                state = {"total": self.bill.total, "left": self.left, "running": self.running, "most": self.most}
                return json_answer(200, state | {"at_once": self.at_once, "storms": len(self.storms)})
            case "POST", "storm":
                asked = orjson.loads(request.body)
                self.storms.add(Storm(**asked | {"kind": Kind(asked["kind"])}))
                return json_answer(200, {"storms": len(self.storms)})
        return json_answer(404, {"error": "no such thing"})
