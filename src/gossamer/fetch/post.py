"""Messages to user-supplied URLs: guarded like every request, without redirects.

The name is resolved and checked again for every message, the client is pinned to just those
addresses, and the address that answers is compared with them once more. Only the head of the answer
is read: its body may have any size, and none of it is kept.
"""

import asyncio
from collections.abc import Mapping
from datetime import timedelta

from wreq import Client, Proxy
from wreq.dns import DnsOptions
from wreq.redirect import Policy
from wreq.runtime import Runtime
from wreq.tls import CertStore

from gossamer.clock import Clock
from gossamer.fetch.addresses import real_address
from gossamer.fetch.body import read_headers
from gossamer.fetch.errors import CLIENT_ERRORS, FetchError, spell_seconds, translate
from gossamer.fetch.guard import Clearance, Guard
from gossamer.judge.status import seconds_asked
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.webhook import EndpointAnswer

_AGENT = "gossamer-webhooks/1"


# Others may be over by the time something is sent.
_FOR_GOOD = frozenset({Reason.BAD_URL, Reason.FORBIDDEN_ADDRESS, Reason.DNS})


class Poster:
    """Sends messages, one connection each."""

    def __init__(
        self,
        guard: Guard,
        clock: Clock,
        *,
        timeout: timedelta = timedelta(seconds=10),
        trust: CertStore | None = None,
        proxy: str = "",
        runtime: Runtime | None = None,
    ) -> None:
        self._guard = guard
        self._clock = clock
        self._timeout = timeout
        self._trust = trust
        self._proxy = Proxy.all(proxy) if proxy else None
        self._runtime = runtime or Runtime(workers=1)

    async def refusal(self, url: str) -> str:
        """Return the reason why nothing could ever be sent there, as a sentence; "" if sending is possible."""
        try:
            await self._guard.admit(url)
        except FetchError as error:
            return error.trouble.sentence if error.trouble.reason in _FOR_GOOD else ""
        return ""

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> EndpointAnswer:
        """Send one POST and return what came back."""
        try:
            async with asyncio.timeout(self._timeout.total_seconds()):
                return await self._exchange(await self._guard.admit(url), headers, body)
        except TimeoutError:
            return EndpointAnswer(None, Trouble(Reason.TIMEOUT, spell_seconds(self._timeout)).sentence)
        except FetchError as error:
            return EndpointAnswer(None, error.trouble.sentence)
        except CLIENT_ERRORS as error:
            told = translate(error, connect_timeout=self._timeout, timeout=self._timeout)
            return EndpointAnswer(None, told.trouble.sentence)

    async def _exchange(self, clearance: Clearance, headers: Mapping[str, str], body: bytes) -> EndpointAnswer:
        proxy = None if clearance.by_rule else self._proxy
        claimed = {"Host": clearance.authority} if clearance.authority else {}
        client = self._client(clearance, proxy)
        async with client.post(clearance.send, headers={**headers, **claimed}, body=body) as arrived:
            far = arrived.remote_addr
            checked = frozenset(map(real_address, clearance.addresses))
            if proxy is None and (far is None or real_address(far.ip()) not in checked):
                raise FetchError(Trouble(Reason.FORBIDDEN_ADDRESS, f"{clearance.host} was answered from elsewhere"))
            said = read_headers(arrived)
            await arrived.close()
            asked = seconds_asked(said.get("retry-after", ""), self._clock.now(), said.get("date", ""))
            return EndpointAnswer(arrived.status.as_int(), asked=None if asked is None else timedelta(seconds=asked))

    def _client(self, clearance: Clearance, proxy: Proxy | None) -> Client:
        # Proxies have names of their own, which are the operator's business: the system looks them up.
        pins = DnsOptions(system_dns=proxy is not None)
        pins.add_resolve(clearance.host, list(clearance.addresses))
        return Client(
            runtime=self._runtime,
            dns_options=pins,
            # Either of the two keeps the client from obeying proxy variables.
            **({"no_proxy": True} if proxy is None else {"proxies": [proxy]}),
            redirect=Policy.none(),
            user_agent=_AGENT,
            connect_timeout=self._timeout,
            timeout=self._timeout,
            pool_max_size=1,
            tls_verify=True if self._trust is None else self._trust,
            # HTTP/2 has no second place for the host a rule stands in for: servers refuse a Host that differs.
            http1_only=bool(clearance.authority),
        )
