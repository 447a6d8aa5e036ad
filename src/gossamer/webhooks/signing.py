"""Signing keys of webhooks, and the signatures of messages by the Standard Webhooks specification.

Keys are stored encrypted. A replaced key still signs for the time of `OVERLAP`.
"""

import secrets
from base64 import b64encode
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from hmac import digest
from uuid import UUID

from gossamer.accounts.sealing import BrokenSeal, Sealer, webhook_purpose
from gossamer.errors import UserError
from gossamer.model.webhook import KeptKey, SigningKey

OVERLAP = timedelta(hours=24)
"""Default time for which a replaced secret still signs."""

LONGEST_OVERLAP = timedelta(days=7)


class KeySeals:
    """Encrypts signing keys. `former` decrypts keys from before the operator set a secret."""

    def __init__(self, sealer: Sealer, former: Sealer | None = None, *, is_known_to_all: bool = True) -> None:
        self._sealer = sealer
        self._former = former
        self._is_known_to_all = is_known_to_all  # by all workers that may have to sign

    def seal(self, key: bytes, endpoint_id: UUID) -> bytes:
        if not self._is_known_to_all:
            raise UserError(
                "webhook.no_secret",
                "A webhook cannot be given a secret here: there is none that all workers know, to encrypt it with.",
                hint="Set GOSSAMER_API_SECRET, the same on all machines.",
            )
        return self._sealer.seal(key.hex(), webhook_purpose(endpoint_id))

    def opened(self, kept: Iterable[KeptKey]) -> tuple[SigningKey, ...]:
        """Return the keys that can be decrypted here."""
        return tuple(key for key in map(self._opened, kept) if key)

    def renewed(self, kept: KeptKey) -> bytes | None:
        """Return the key sealed with the present secret; None if it is so already, or cannot be."""
        if not self._is_known_to_all or _open(self._sealer, kept):
            return None
        key = self._opened(kept)
        return self.seal(key.key, kept.endpoint_id) if key else None

    def _opened(self, kept: KeptKey) -> SigningKey | None:
        return _open(self._sealer, kept) or (_open(self._former, kept) if self._former else None)


def _open(sealer: Sealer, kept: KeptKey) -> SigningKey | None:
    try:
        return SigningKey(bytes.fromhex(sealer.open(kept.kept, webhook_purpose(kept.endpoint_id))), kept.until)
    except BrokenSeal:
        return None


KEY_BYTES = 32  # the specification asks for 24 to 64


def new_key() -> bytes:
    return secrets.token_bytes(KEY_BYTES)


def headers_for(message_id: str, at: datetime, body: bytes, keys: Sequence[SigningKey]) -> dict[str, str]:
    """Return the three headers of an attempt, with a signature per key: one valid signature is enough."""
    timestamp = str(int(at.timestamp()))
    signed = b".".join((message_id.encode(), timestamp.encode(), body))
    signatures = (b64encode(digest(one.key, signed, sha256)).decode() for one in keys)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }
