"""Other people's secrets: sealed for one purpose, and opened with the same secret only."""

import pytest

from gossamer.accounts.sealing import BrokenSeal, Sealer, purpose_of

TEXT = "fc-0123456789abcdef"
PURPOSE = purpose_of("acme", "firecrawl")


def test_what_is_sealed_is_opened_with_the_same_secret_and_cannot_be_read() -> None:
    sealed = Sealer(b"a secret").seal(TEXT, PURPOSE)
    assert Sealer(b"a secret").open(sealed, PURPOSE) == TEXT
    assert TEXT.encode() not in sealed
    assert sealed != Sealer(b"a secret").seal(TEXT, PURPOSE)  # two of the same say nothing of each other


@pytest.mark.parametrize(
    ("secret", "purpose"),
    [(b"another", PURPOSE), (b"a secret", purpose_of("other", "firecrawl")), (b"a secret", purpose_of("acme", "x"))],
)
def test_a_seal_opens_for_nobody_else_and_for_nothing_else(secret: bytes, purpose: str) -> None:
    sealed = Sealer(b"a secret").seal(TEXT, PURPOSE)
    with pytest.raises(BrokenSeal):
        Sealer(secret).open(sealed, purpose)


def test_what_was_changed_is_not_opened() -> None:
    sealer = Sealer(b"a secret")
    sealed = sealer.seal(TEXT, PURPOSE)
    changed = [sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :] for at in range(len(sealed))]
    for one in (*changed, sealed[:-1], sealed[:12], b""):
        with pytest.raises(BrokenSeal):
            sealer.open(one, PURPOSE)
