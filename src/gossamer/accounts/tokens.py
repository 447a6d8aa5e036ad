"""Tokens of a login: a short-lived access token, and a refresh token for a single renewal."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import jwt

ACCESS = timedelta(minutes=15)
REFRESH = timedelta(days=30)

_HOW = "HS256"
_FOR = "gossamer"
_LONGEST = 2_000


@dataclass(frozen=True, slots=True)
class Signer:
    """Makes and reads access tokens. Servers with the same secret accept each other's tokens."""

    secret: bytes

    def access(self, session: UUID, now: datetime) -> str:
        claims = {"sub": session.hex, "aud": _FOR, "iat": now, "exp": now + ACCESS}
        return jwt.encode(claims, self.secret, algorithm=_HOW)

    def session(self, token: str) -> UUID | None:
        """Return the login of an access token; None if it has expired or is invalid."""
        try:
            claims = jwt.decode(
                token, self.secret, algorithms=[_HOW], audience=_FOR, options={"require": ["exp", "sub", "aud"]}
            )
            return UUID(hex=claims["sub"])
        except (jwt.InvalidTokenError, ValueError):
            return None


def looks_like_token(text: str) -> bool:
    """Return True if the text has the form of a short-lived token: three parts separated by dots."""
    return text.count(".") == 2 and len(text) <= _LONGEST


def refresh_secret() -> str:
    return secrets.token_urlsafe(32)


def refresh_token(session: UUID, secret: str) -> str:
    return f"{session.hex}.{secret}"


def read_refresh(token: str) -> tuple[UUID | None, str]:
    """Split a refresh token into its login and its secret; None for an invalid one."""
    head, _, secret = token.partition(".")
    try:
        return (UUID(hex=head) if secret else None), secret
    except ValueError:
        return None, ""
