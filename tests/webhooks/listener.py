"""A receiver of webhooks on loopback: keeps what it was sent, and answers as it was told to."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from standardwebhooks import Webhook

Answer = tuple[int, dict[str, str]] | Callable[[BaseHTTPRequestHandler], None]


@dataclass(frozen=True, slots=True)
class Received:
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    def verified(self, secret: str) -> dict[str, Any]:
        """What the message says, as somebody else's library reads it; it raises if the signature is not right."""
        said: dict[str, Any] = Webhook(secret).verify(self.body, self.headers)
        return said


class Listener:
    """`answers` are given one after the other, then 204 for ever."""

    def __init__(self, *answers: Answer) -> None:
        self.received: list[Received] = []
        self.answers = list(answers)
        self._arrived = threading.Condition()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def url(self, host: str = "hooks.test") -> str:
        return f"http://{host}/in?from=gossamer"

    @property
    def rule(self) -> str:
        """What GOSSAMER_CONNECT_TO says for it."""
        return f"hooks.test=127.0.0.1:{self.port}"

    def types(self, secret: str) -> list[str]:
        return [one.verified(secret)["type"] for one in self.received]

    def until(self, count: int, seconds: float = 60) -> list[Received]:
        """Wait for so many messages."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: len(self.received) >= count, seconds), self.received
            return list(self.received)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                with listener._arrived:
                    headers = {name.lower(): value for name, value in self.headers.items()}
                    listener.received.append(Received(headers, body))
                    answer = listener.answers.pop(0) if listener.answers else (204, {})
                    listener._arrived.notify_all()
                if callable(answer):
                    answer(self)
                    return
                status, more = answer
                self.send_response(status)
                for name, value in more.items():
                    self.send_header(name, value)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        return Handler
