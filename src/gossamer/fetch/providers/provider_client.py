"""The client of one provider in a process, shared by sessions: connections, slots, circuit breaker, account balance."""

import asyncio
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from ipaddress import ip_address
from urllib.parse import urlsplit

import wreq.exceptions as client
from wreq import Client, Proxy
from wreq import Response as Arrived
from wreq.dns import DnsOptions
from wreq.redirect import Policy
from wreq.runtime import Runtime
from wreq.tls import CertStore

from gossamer.clock import Clock
from gossamer.fetch.addresses import is_local_name, why_not_public
from gossamer.fetch.body import BodyLimit, read_body, read_headers
from gossamer.fetch.errors import CLIENT_ERRORS, FetchError, ProxyAway, translate
from gossamer.fetch.providers.base import Books, Call, Checked, ProviderAccount, ProviderApi, failed
from gossamer.fetch.providers.circuit_breaker import ProviderBreaker
from gossamer.fetch.providers.concurrency import CallSlots
from gossamer.logging import get_logger
from gossamer.model.trouble import Reason

CONNECT_TIMEOUT = timedelta(seconds=10)
_ACCOUNT_TIMEOUT = timedelta(seconds=10)
HEALTH_TIMEOUT = timedelta(seconds=5)
_HEARD_LATELY = 30.0  # seconds
_ACCOUNT_BYTES = 65_536
_ASK_AGAIN = 60.0  # seconds between two looks at the books, and for which a refusal is remembered
_AGENT = "gossamer"

_WORDS = {
    Reason.DNS: "its name has no address",
    Reason.UNREACHABLE: "no server answers there",
    Reason.TLS: "TLS handshake failed",
    Reason.PROXY: "no connection through the proxy",
}

# There was no connection to send anything over.
_UNSENT = (client.ConnectionError, client.ProxyConnectionError, client.TlsError)

log = get_logger(__name__)


class Unread(Exception):
    """The reason why the account's usage cannot be read, in a few words."""


class ProviderClient:
    """The shared client of one provider; opened with the first call."""

    def __init__(
        self,
        slots: CallSlots,
        breaker: ProviderBreaker,
        clock: Clock,
        url: str,
        most: int,
        runtime: Runtime,
        *,
        proxy: str = "",
        trust: CertStore | None = None,
    ) -> None:
        self.slots = slots
        self.breaker = breaker
        self._clock = clock
        self._most = most
        self._known: int | None = None  # what the books allow
        self._asked = float("-inf")
        self._asking = asyncio.Lock()
        self._heard = float("-inf")  # when a server was last known to be there
        self._raise_at: float | None = None  # when a limit that was lowered for a refusal is to be tried again
        behind_proxy = proxy if proxy and not _is_near(url) else ""
        self._client = Client(
            runtime=runtime,
            # Names of providers are the operator's business, as the proxy's are: the system looks them up.
            dns_options=DnsOptions(system_dns=True),
            **({"proxies": [Proxy.all(behind_proxy)]} if behind_proxy else {"no_proxy": True}),
            redirect=Policy.none(),  # a key goes where it was meant to go
            user_agent=_AGENT,
            connect_timeout=CONNECT_TIMEOUT,
            tls_verify=True if trust is None else trust,
            deflate=False,  # undone by us, in both of its readings
        )

    def send(self, call: Call, timeout: timedelta) -> AbstractAsyncContextManager[Arrived]:
        if call.body:
            return self._client.post(call.url, headers=call.headers, body=call.body, timeout=timeout)
        return self._client.get(call.url, headers=call.headers, timeout=timeout)

    async def learn(self, provider: ProviderApi) -> None:
        """Prepare a call: fetch the limit if it is not known yet, and forget a refusal of long ago."""
        if self._raise_at is not None and self._clock.monotonic() >= self._raise_at:
            self._raise_at = None
            self._set_limit(provider, self._known or self._most)
        if self._known is None:
            await self._ask(provider)

    async def check(self, provider: ProviderApi) -> None:
        """Raise ProviderTrouble if a server with a health check cannot be reached. Others are not checked.

        Its answer does not matter: older versions do not know the question.
        """
        if not isinstance(provider, Checked) or self._clock.monotonic() - self._heard < _HEARD_LATELY:
            return
        async with self.send(provider.ask_health(), HEALTH_TIMEOUT):
            self._heard = self._clock.monotonic()

    async def too_many(self, provider: ProviderApi) -> None:
        """Note that the provider refused a call because others were running."""
        running, before = self.slots.taken, self.slots.limit
        await self._ask(provider)
        if self.slots.limit >= before:
            # The account shows no new limit: others may use the key. So the limit is what runs here at the moment.
            self._raise_at = self._clock.monotonic() + _ASK_AGAIN
            self._set_limit(provider, max(1, running))

    async def _ask(self, provider: ProviderApi) -> None:
        if not isinstance(provider, Books):
            return
        async with self._asking:
            if self._clock.monotonic() - self._asked < _ASK_AGAIN:
                return  # another call has asked meanwhile
            self._asked = self._clock.monotonic()
            account = await self.account(provider)
            if account is not None and account.at_once:
                self._known = min(self._most, account.at_once)
                self._set_limit(provider, self._known)

    async def account(self, provider: ProviderApi) -> ProviderAccount | None:
        """Return the usage of the account; None if it cannot be read."""
        try:
            return await self.read_books(provider)
        except Unread as error:
            log.warning("provider.account_unread", provider=provider.name, why=str(error))
            return None

    async def read_books(self, provider: ProviderApi) -> ProviderAccount | None:
        """Read the usage of the account; None if the provider reports none. Raises Unread."""
        if not isinstance(provider, Books):
            return None
        try:
            return provider.read_account(tuple([await self._get(call) for call in provider.ask_account()]))
        except FetchError as error:
            raise Unread(error.trouble.sentence) from error
        except CLIENT_ERRORS as error:
            told = translate(error, connect_timeout=CONNECT_TIMEOUT, timeout=_ACCOUNT_TIMEOUT)
            raise Unread(told.trouble.sentence) from error
        except ValueError as error:
            raise Unread(str(error)) from error

    async def meant_by(self, provider: ProviderApi, error: FetchError) -> FetchError:
        """Return the error to raise for a provider's error.

        A provider with a maximum cost per call refuses more expensive calls as if the credits were used up.
        The account's usage then shows which of the two it is. If it does not, a person has to check.
        """
        refused = error.trouble.reason is Reason.PROVIDER_CREDITS
        if not refused or not isinstance(provider, Books) or provider.most is None:
            return error
        account = await self.account(provider)
        if account is None or account.remaining is None or account.remaining < provider.most:
            return error
        why = f"it would cost more than {provider.most} credits, or the plan does not have it"
        return failed(provider.name, provider.title, Reason.PROVIDER_REFUSED, why=why)

    async def _get(self, call: Call) -> bytes:
        async with self.send(call, _ACCOUNT_TIMEOUT) as arrived:
            status = arrived.status.as_int()
            if status != 200:
                raise ValueError(f"HTTP {status}")
            return await read_body(arrived, read_headers(arrived), BodyLimit(_ACCOUNT_BYTES))

    def _set_limit(self, provider: ProviderApi, limit: int) -> None:
        if limit != self.slots.limit:
            self.slots.set_limit(limit)
            log.info("provider.limit_learned", provider=provider.name, limit=limit)


def broken(provider: ProviderApi, error: Exception, timeout: timedelta) -> FetchError:
    """Return the error for a call that failed with one of CLIENT_ERRORS. An unsent call costs nothing."""
    told = translate(error, connect_timeout=CONNECT_TIMEOUT, timeout=timeout)
    reason = told.trouble.reason
    credits = 0 if isinstance(error, _UNSENT) else None
    if isinstance(told, ProxyAway):
        told.credits = credits
        return told
    why = _WORDS.get(reason, "the connection broke off")
    if reason is Reason.TIMEOUT:
        why = f"nothing for {told.trouble.detail}"
    return failed(provider.name, provider.title, Reason.PROVIDER_AWAY, credits=credits, why=why)


def _is_near(url: str) -> bool:
    """Return True for a server in our own network, such as FlareSolverr's, that no proxy can reach."""
    host = urlsplit(url).hostname or ""
    if "." not in host and ":" not in host:
        return True  # a container's name
    return is_local_name(host) or _is_private(host)


def _is_private(host: str) -> bool:
    try:
        return bool(why_not_public(ip_address(host)))
    except ValueError:
        return False
