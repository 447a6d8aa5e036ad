"""Secrets of users that must be stored for a while, encrypted with a key derived from the installation's secret.

AES-256-GCM. A ciphertext is bound to one purpose (its owner and its use) and does not decrypt for
another: an attacker who can write rows, but does not have the secret, cannot make one account's job
spend another account's money.
"""

import secrets
from functools import cached_property
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_NONCE = 12  # bytes
_VERSION = b"\x01"


class BrokenSeal(Exception):
    """Sealed with another secret, for another purpose, or damaged."""


class Sealer:
    """Seals and opens with one secret."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def seal(self, text: str, purpose: str) -> bytes:
        nonce = secrets.token_bytes(_NONCE)
        return _VERSION + nonce + self._cipher.encrypt(nonce, text.encode(), purpose.encode())

    def open(self, sealed: bytes, purpose: str) -> str:
        """Decrypt a secret that was sealed for this purpose. Raises BrokenSeal."""
        from cryptography.exceptions import InvalidTag  # loaded at first use, as below

        nonce, hidden = sealed[1 : 1 + _NONCE], sealed[1 + _NONCE :]
        if sealed[:1] != _VERSION or len(nonce) != _NONCE:
            raise BrokenSeal
        try:
            return self._cipher.decrypt(nonce, hidden, purpose.encode()).decode()
        except InvalidTag as error:
            raise BrokenSeal from error

    @cached_property
    def _cipher(self) -> "AESGCM":
        # Loaded at first use: few jobs have a key of their own.
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        # `info` separates this key from other keys derived from the same secret.
        return AESGCM(HKDF(SHA256(), 32, salt=None, info=b"gossamer sealed keys 1").derive(self._secret))


def purpose_of(account: str, provider: str) -> str:
    """Return the sealing purpose of a provider key that was sent with a job of an account."""
    return f"{account}/{provider}"


def webhook_purpose(endpoint: UUID) -> str:
    """Return the sealing purpose of a webhook's secret.

    No provider's name looks like an id, so purposes cannot collide.
    """
    return f"webhook/{endpoint.hex}"
