"""docs/start/api.md, followed word for word: a new user with two terminals, and nothing but what the page says."""

import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.api.town import town

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "start" / "api.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LONGEST = 60.0  # seconds for anything
NAMES = ("example.com", "example.org")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def certificate(folder: Path) -> tuple[Path, Path]:
    """For the names the page asks for, by nobody but itself."""
    chain, key = folder / "chain.pem", folder / "key.pem"
    names = ",".join(f"DNS:{name}" for name in NAMES)
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "2", "-subj", "/CN=example.com", "-addext", f"subjectAltName={names}"]
    subprocess.run([*command, "-keyout", key, "-out", chain], check=True, capture_output=True)
    return chain, key


class User:
    """Somebody who types what is in the blocks, with ports of their own, and remembers what they were shown."""

    def __init__(self, folder: Path, settings: dict[str, str]) -> None:
        self.folder = folder
        self.ports = {"8000": str(free_port()), "9000": str(free_port())}
        bin_folder = Path(sys.executable).parent
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
        home = {"GOSSAMER_HOME": str(folder / "home"), "GOSSAMER_API_PORT": self.ports["8000"]}
        self.env = {**kept, **home, **settings, "PATH": f"{bin_folder}:{kept['PATH']}", "NO_COLOR": "1"}

    def spelled(self, block: str) -> str:
        for written, ours in self.ports.items():
            block = block.replace(f"127.0.0.1:{written}", f"127.0.0.1:{ours}").replace(f'", {written})', f'", {ours})')
        return block

    def type(self, block: str, **filled: str) -> str:
        """Run a block in the second terminal, with what it leaves to be filled in; what it says."""
        text = self.spelled(block)
        for name, value in filled.items():
            text, changed = re.subn(rf"export {name}=\S+", f"export {name}={value}", text)
            assert changed == 1, f"the page does not say where {name} goes"
            self.env[name] = value
        for name, value in re.findall(r"export (\w+)=(\S+)", text):
            assert "..." not in value, f"nobody knows what {name} is"
            self.env[name] = value
        done = subprocess.run(
            ["bash", "-euc", text], env=self.env, cwd=self.folder, capture_output=True, text=True, timeout=LONGEST
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def ask(self, block: str, **filled: str) -> Any:
        return orjson.loads(self.type(block, **filled))

    @contextmanager
    def server(self, block: str) -> Iterator[str]:
        """The first terminal; what it says to begin with."""
        told = self.folder / "server.txt"
        for name, value in re.findall(r"export (\w+)=(\S+)", block):
            self.env[name] = value
        with told.open("w") as out:
            command = ["bash", "-euc", f"{block.replace('gossamer serve', 'exec gossamer serve')}"]
            process = subprocess.Popen(command, env=self.env, cwd=self.folder, stdout=out, stderr=subprocess.STDOUT)
        try:
            yield until(lambda: said if "Listening on" in (said := told.read_text()) else None)
        finally:
            process.send_signal(signal.SIGINT)  # Ctrl-C
            assert process.wait(LONGEST) == 0, told.read_text()


def until(found: Any) -> Any:
    end = time.monotonic() + LONGEST
    while (value := found()) is None:
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)
    return value


@pytest.mark.story
def test_a_new_user_gets_to_a_page_a_batch_and_a_webhook(tmp_path: Path) -> None:
    blocks = BLOCK.findall(PAGE)
    shell = [text for kind, text in blocks if kind == "sh"]
    (receiver,) = [text for kind, text in blocks if kind == "python"]
    chain, key = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    with town(context) as port:
        rules = ",".join(f"{name}=127.0.0.1:{port}" for name in NAMES)
        settings = {"GOSSAMER_CONNECT_TO": rules, "GOSSAMER_CA_FILE": str(chain), "GOSSAMER_PROCESSES": "1"}
        user = User(tmp_path, {**settings, "GOSSAMER_DOMAIN_RATE": "50"})
        (tmp_path / "receiver.py").write_text(user.spelled(receiver), encoding="utf-8")
        todo = iter(shell)
        with user.server(next(todo)) as greeting:
            (shown,) = re.findall(r"gsk_\S+", greeting)
            assert user.ask(next(todo), KEY=shown)["status"] == "ok"
            page = user.ask(next(todo))
            assert "# Lamp" in page["data"]["markdown"]
            job = user.ask(next(todo))
            assert job["urls"] == 2
            assert user.ask(next(todo), JOB=job["id"])["id"] == job["id"]
            assert {one["url"] for one in user.ask(next(todo))["items"]} == {f"https://{name}/" for name in NAMES}
            assert "event: end" in user.type(next(todo))
            export = user.ask(next(todo))["items"][0]["id"]
            before = set(tmp_path.iterdir())
            assert user.type(next(todo), EXPORT=export) == ""
            (file,) = set(tmp_path.iterdir()) - before
            assert (file.suffix, "Lamp" in file.read_text()) == (".csv", True)
        with user.server(next(todo)):
            (secret,) = re.findall(r"whsec_\S+", user.type(next(todo)))
            last = next(todo)
            assert "python3 receiver.py &" in last
            heard = tmp_path / "heard.txt"
            last = last.replace("python3 receiver.py &", f"python3 receiver.py > {heard} 2>&1 & echo $! > receiver.pid")
            try:
                second = orjson.loads(user.type(last, SECRET=secret).splitlines()[-1])
                told = until(
                    lambda: (
                        found[0] if (found := re.findall(r"^(\w+) (msg_\S+) (.*)$", heard.read_text(), re.M)) else None
                    )
                )
            finally:
                os.kill(int((tmp_path / "receiver.pid").read_text()), signal.SIGTERM)
            assert told[0] == "believed"
            said = orjson.loads(told[2])
            assert (said["type"], said["data"]["job_id"]) == ("job.completed", second["id"])
            prospects = user.ask(next(todo))
            assert prospects["recipe"] == "prospect"
            assert {"items", "has_more", "complete"} <= user.ask(next(todo), JOB=prospects["id"]).keys()
            assert "gsk_" in user.type(next(todo))
        assert list(todo) == []
