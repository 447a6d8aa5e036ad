"""A rung from outside, whole: its row, and the class that speaks to its provider.

CONTRIBUTING.md is about this file. It enters by GOSSAMER_PLUGINS=tests.toy_rung:TOY, and needs GOSSAMER_TOY_KEY.
"""

from datetime import timedelta
from urllib.parse import urlencode

from gossamer.fetch.providers.base import (
    Call,
    Head,
    ProviderAccount,
    Told,
    Wish,
    document_in,
    failed,
    number_in,
    status_in,
    whole,
)
from gossamer.model.rungs import Cost, Form, Lane, Provider, Rung, RungSetting
from gossamer.model.trouble import Reason

TOY = Rung(
    "toy",
    Lane.HTTP,
    "Toymaker (JS rendering)",
    timedelta(seconds=40),
    retries=1,
    renders=True,
    provider=Provider(
        "toymaker",
        "Toymaker",
        "tests.toy_rung:open_toy",
        "https://api.toymaker.example",
        key=RungSetting("toy_key", Form.KEY, "Key to Toymaker", "a key without spaces", is_required=True),
        address=RungSetting("toy_url", Form.ADDRESS, "Server of Toymaker, where it is not its own", "an address"),
    ),
    cost=Cost(4, {"ok": 3, "404": 3, "failed": 0}),
    account_credits=7,
    in_hybrid=True,
    in_premium=True,
)

_FAILURES = {401: Reason.PROVIDER_KEY, 402: Reason.PROVIDER_CREDITS, 429: Reason.PROVIDER_BUSY}


def open_toy(wish: Wish) -> "Toy":
    return Toy(wish)


class Toy:
    """One GET per page: the page back, and what it is of in headers."""

    name = "toymaker"
    title = "Toymaker"
    wraps = False
    most = None

    def __init__(self, wish: Wish) -> None:
        self._url = wish.url or "https://api.toymaker.example"
        self._headers = {"x-toy-key": wish.key}

    def ask(self, url: str, timeout: timedelta) -> Call:
        return Call(f"{self._url}/page?{urlencode({'url': url})}", self._headers)

    def peek(self, head: Head) -> Told | None:
        if "toy-status" not in head.headers:
            return None
        kind = {"content-type": head.headers.get("content-type", "")}
        return Told(status_in(head.headers, "toy-status", 200), kind, number_in(head.headers, "toy-credits"))

    def read(self, head: Head, body: bytes) -> Told:
        told = self.peek(head)
        if told is None:
            raise failed(self.name, self.title, _FAILURES.get(head.status, Reason.PROVIDER_FAILED), head)
        return told

    def ask_account(self) -> tuple[Call, ...]:
        return (Call(f"{self._url}/account", self._headers),)

    def read_account(self, answers: tuple[bytes, ...]) -> ProviderAccount:
        left = document_in(answers[0])
        if left is None:
            raise ValueError("no JSON")
        return ProviderAccount(remaining=whole(left.get("left")), at_once=whole(left.get("at_once")))
