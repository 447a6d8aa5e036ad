"""Name resolution for the guard: our own lookups, so that the checked addresses are the contacted ones.

c-ares sends the queries (A and AAAA, the hosts file first). Dead names are common in users' lists, so
lookups run concurrently under a limit, are shared by callers that wait for the same name, and are
cached for a while, failures too.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_address

import aiodns
import pycares
from aiodns.error import (
    ARES_EBADNAME,
    ARES_ECONNREFUSED,
    ARES_ENODATA,
    ARES_ENOTFOUND,
    ARES_ESERVFAIL,
    ARES_ETIMEOUT,
    DNSError,
)

from gossamer.clock import Clock
from gossamer.fetch.addresses import Address
from gossamer.fetch.errors import FetchError
from gossamer.model.trouble import Reason, Trouble

_PATIENCE = timedelta(seconds=6)
# c-ares waits for an answer only a few times as long as the server usually needs, from a quarter of a second on, and
# doubles that with each try. Two tries would give up on a slow name within a second; five fill the six seconds.
_TRIES = 5
_FIRST_WAIT = 3.0

_KEEP_AT_LEAST = 30.0
_KEEP_AT_MOST = 600.0
_KEEP_FAILURE = 5.0  # no answer at all: the trouble may be ours and pass

# c-ares keeps answers of its own for as long as their authors like, 2 KB each. A new channel now and then bounds both.
_CHANNEL_AGE = _KEEP_AT_MOST
_CHANNEL_NAMES = 2_000

_NO_SORTING = 1 << 7  # ARES_AI_NOSORT: the order is ours, and sorting costs a socket per address

_SENTENCES = {
    ARES_ENOTFOUND: "no such name",
    ARES_ENODATA: "the name has no address",
    ARES_EBADNAME: "not a possible name",
    ARES_ETIMEOUT: "no answer from the name server",
}
_FINAL = frozenset({ARES_ENOTFOUND, ARES_ENODATA, ARES_EBADNAME})
# Errors of a name server that reaches no other, or that cannot be reached. Any other answer shows that it works.
_NOBODY_THERE = frozenset({ARES_ETIMEOUT, ARES_ECONNREFUSED, ARES_ESERVFAIL})
_LOOK = 3.0  # seconds


@dataclass(frozen=True, slots=True)
class _Lookup:
    addresses: tuple[Address, ...]
    trouble: Trouble | None
    until: float  # on the monotonic clock

    def unwrap(self) -> tuple[Address, ...]:
        if self.trouble is not None:
            raise FetchError(self.trouble)
        return self.addresses


class Resolver:
    """Name resolution with a cache. One per process and event loop."""

    def __init__(
        self,
        clock: Clock,
        *,
        servers: Sequence[str] = (),
        patience: timedelta = _PATIENCE,
        at_once: int = 200,
        remember: int = 20_000,
    ) -> None:
        self._clock = clock
        self._servers = tuple(servers)
        self._patience = patience.total_seconds()
        self._places = asyncio.Semaphore(at_once)
        self._remember = remember
        self._answers: dict[str, _Lookup] = {}
        self._asking: dict[str, asyncio.Task[_Lookup]] = {}
        self._channel: aiodns.DNSResolver | None = None
        self._channel_since = 0.0
        self._channel_names = 0

    def recall(self, host: str) -> tuple[Address, ...] | None:
        """Return the cached answer of `resolve`, if it is still valid: the same object as long as it is."""
        answer = self._answers.get(host)
        return answer.unwrap() if answer is not None and self._clock.monotonic() < answer.until else None

    async def resolve(self, host: str) -> tuple[Address, ...]:
        """Return all addresses of a name, IPv4 first; FetchError with Trouble DNS if there are none."""
        known = self.recall(host)
        if known is not None:
            return known
        asking = self._asking.get(host)
        if asking is None:
            asking = asyncio.create_task(self._ask_and_remember(host))
            self._asking[host] = asking
            asking.add_done_callback(lambda _: self._asking.pop(host, None))
        # Shielded: one visit that is cancelled must not take the answer away from the others.
        return (await asyncio.shield(asking)).unwrap()

    async def is_there(self) -> bool:
        """Return True if the name servers are reachable and reach others; the query is for the root's NS records.

        It uses its own channel, because c-ares would answer from its cache.
        """
        channel = aiodns.DNSResolver(nameservers=self._servers or None, timeout=_LOOK / 2, tries=2)
        try:
            async with asyncio.timeout(_LOOK):
                await channel.query_dns(".", "NS")
        except TimeoutError:
            return False
        except DNSError as error:
            return error.args[0] not in _NOBODY_THERE
        finally:
            await channel.close()
        return True

    async def close(self) -> None:
        asking = list(self._asking.values())
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        if self._channel is not None:
            await self._channel.close()
            self._channel = None

    async def _ask_and_remember(self, host: str) -> _Lookup:
        async with self._places:
            answer = await self._ask(host)
        self._answers.pop(host, None)
        self._answers[host] = answer
        if len(self._answers) > self._remember:
            del self._answers[next(iter(self._answers))]
        return answer

    async def _ask(self, host: str) -> _Lookup:
        channel = self._fresh_channel()
        try:
            async with asyncio.timeout(self._patience):
                found = await channel.getaddrinfo(host, flags=_NO_SORTING)
        except TimeoutError:
            return self._failure(ARES_ETIMEOUT)
        except DNSError as error:
            return self._failure(error.args[0])
        addresses = {ip_address(node.addr[0].decode().partition("%")[0]) for node in found.nodes}
        if not addresses:
            return self._failure(ARES_ENODATA)
        keep = min(max(min(node.ttl for node in found.nodes), _KEEP_AT_LEAST), _KEEP_AT_MOST)
        ordered = tuple(sorted(addresses, key=lambda address: (address.version, int(address))))
        return _Lookup(ordered, None, self._clock.monotonic() + keep)

    def _failure(self, code: int) -> _Lookup:
        # "There is no such name" is an answer; silence is not, and may be our own network's fault: worth another try.
        reason = Reason.DNS if code in _FINAL else Reason.NAME_SERVER
        trouble = Trouble(reason, _SENTENCES.get(code, "the name server failed"))
        keep = _KEEP_AT_LEAST if code in _FINAL else _KEEP_FAILURE
        return _Lookup((), trouble, self._clock.monotonic() + keep)

    def _fresh_channel(self) -> aiodns.DNSResolver:
        """Return the channel for queries. A replaced channel closes after its last query is answered."""
        now = self._clock.monotonic()
        worn = self._channel_names >= _CHANNEL_NAMES or now - self._channel_since >= _CHANNEL_AGE
        if self._channel is None or worn:
            self._channel = aiodns.DNSResolver(
                nameservers=self._servers or None,
                timeout=_FIRST_WAIT,
                tries=_TRIES,
                # No search list: `shop.example` must never turn into `shop.example.corp.example`.
                flags=pycares.ARES_FLAG_NOSEARCH | pycares.ARES_FLAG_EDNS,
            )
            self._channel_since, self._channel_names = now, 0
        self._channel_names += 1
        return self._channel
