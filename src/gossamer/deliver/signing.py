"""How a message proves where it comes from, by the Standard Webhooks specification."""

import secrets
from base64 import b64encode
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from hmac import digest

from gossamer.model.webhook import SigningKey

KEY_BYTES = 32  # the specification asks for 24 to 64


def new_key() -> bytes:
    return secrets.token_bytes(KEY_BYTES)


def headers_for(message_id: str, at: datetime, body: bytes, keys: Sequence[SigningKey]) -> dict[str, str]:
    """The three headers of one try, with a signature for each key: any of them is enough for the receiver."""
    timestamp = str(int(at.timestamp()))
    signed = b".".join((message_id.encode(), timestamp.encode(), body))
    signatures = (b64encode(digest(one.key, signed, sha256)).decode() for one in keys)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }
