"""Signatures are those of the specification: its own example, and a reader that somebody else has written."""

from base64 import b64decode
from datetime import UTC, datetime

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from gossamer.model.webhook import SigningKey
from gossamer.webhooks.signing import KEY_BYTES, headers_for, new_key


def test_the_example_of_the_specification() -> None:
    key = SigningKey(b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
    at = datetime.fromtimestamp(1614265330, UTC)
    headers = headers_for("msg_p5jXN8AQM9LWM0D4loKWxJek", at, b'{"test": 2432232314}', [key])
    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_either_of_two_keys_is_enough_and_a_third_is_not() -> None:
    old, new, other = (SigningKey(new_key()) for _ in range(3))
    body = '{"name": "Žofie ü 漢"}'.encode()
    headers = headers_for("msg_1", datetime.now(UTC), body, [new, old])
    for key in (old, new):
        assert Webhook(key.spelled).verify(body, headers) == {"name": "Žofie ü 漢"}
    with pytest.raises(WebhookVerificationError):
        Webhook(other.spelled).verify(body, headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(new.spelled).verify(body + b" ", headers)


def test_a_key_does_not_show_itself() -> None:
    key = SigningKey(new_key())
    assert len(key.key) == KEY_BYTES
    assert key.spelled.startswith("whsec_")
    assert key.spelled not in f"{key} {key!r} {[key]}"
