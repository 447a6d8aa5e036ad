"""Rungs of a job: those of this machine, or with a key that came with the job."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from gossamer.accounts.sealing import BrokenSeal
from gossamer.fetch import Fetcher, FetchError, ProviderUnusable
from gossamer.logging import get_logger
from gossamer.model.document import Request
from gossamer.model.job import CrawlPolicy
from gossamer.model.page import SECRET, PageRequest
from gossamer.model.rungs import Rung, provider_of
from gossamer.model.trouble import Reason, Trouble
from gossamer.store import jobs
from gossamer.work.kit import Kit

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Outlets:
    """Those of one job."""

    kit: Kit
    whose: str
    keys: Mapping[str, str | None] = field(default_factory=dict, repr=False)  # by provider; None: it cannot be read
    _secrets: dict[str, str] = field(default_factory=dict, repr=False)  # by the names that requests have for them

    def open(self, rung: Rung, seed: int) -> Fetcher:
        provider = provider_of(rung.name)
        if provider in self.keys:
            key = self.keys[provider]
            if key is None:
                # The operator's own would be somebody else's money.
                raise FetchError(Trouble(Reason.NOT_CONFIGURED, f"{rung.name}, whose key cannot be read here"))
            return self.kit.own_ways.open(rung.name, self.whose, key)
        if rung.name not in self.kit.rungs:
            # It was to be had where the job was created.
            raise FetchError(Trouble(Reason.NOT_CONFIGURED, f"{rung.name}, on this machine"))
        return self.kit.open_session(rung.name, seed)

    def resting(self, rung: str) -> ProviderUnusable | None:
        key = self.keys.get(provider_of(rung))
        return self.kit.own_ways.resting(rung, self.whose, key) if key else self.kit.resting(rung)

    async def request_of(self, said: PageRequest) -> Request:
        """Return the request for a page, including the secret it names. Raises FetchError if the secret is missing."""
        secret = await self._secret(said.credential) if said.credential else ""
        headers = {name: value.replace(SECRET, secret) for name, value in said.headers}
        if secret and not any(SECRET in value for _, value in said.headers):
            headers["Authorization"] = f"Bearer {secret}"
        return Request(said.method, headers, said.body)

    async def _secret(self, name: str) -> str:
        """Of a key that came with the job, else of the operator's."""
        if name not in self._secrets:
            account, sealed = await self.kit.database.read(jobs.provider_keys, UUID(self.whose))
            try:
                own = self.kit.own_ways.open_seal(sealed[name], account, name) if name in sealed else ""
            except BrokenSeal:
                log.error("job.key_unreadable", provider=name)
                raise FetchError(Trouble(Reason.NOT_CONFIGURED, f"the key {name}, which cannot be read here")) from None
            if not (found := own or self.kit.secrets.get(name, "")):
                raise FetchError(Trouble(Reason.NOT_CONFIGURED, f"the secret {name}, which GOSSAMER_SECRETS lacks"))
            self._secrets[name] = found
        return self._secrets[name]


async def outlets_of(kit: Kit, job_id: UUID, policy: CrawlPolicy) -> Outlets:
    """Read once per job and process, and not at all for a job whose ladder has no such rung."""
    whose = job_id.hex
    if not any(rung.provider and rung.provider.takes_job_keys for rung in policy.ladder.rungs):
        return Outlets(kit, whose)
    account, sealed = await kit.database.read(jobs.provider_keys, job_id)
    keys: dict[str, str | None] = {}
    for provider, one in sealed.items():
        try:
            keys[provider] = kit.own_ways.open_seal(one, account, provider)
        except BrokenSeal:
            log.error("job.key_unreadable", provider=provider)
            keys[provider] = None
    return Outlets(kit, whose, keys)


def forget_outlets(kit: Kit, held: Collection[UUID]) -> None:
    kit.own_ways.forget({job_id.hex for job_id in held})
