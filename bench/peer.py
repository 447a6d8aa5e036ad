"""Running a peer: its virtual environment, made once and kept, and its program in it."""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import orjson

from bench.figure import BenchFailed
from bench.running import ROOT, Ran, run

PEERS = ROOT / "bench" / "peers"
VENVS = ROOT / "bench" / "out" / ".venvs"

_PIN = re.compile(r"^(scrapy|crawlee|trafilatura|readability-lxml)(?:\[\w+\])?==(\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Peer:
    """A program of `bench/peers`, and the library it is about, which names its list of packages there.

    `one_by_one`: how its packages are installed, since pip 23 fails over two that want the same extra of a third.
    """

    program: str
    library: str
    one_by_one: bool = False

    def prepare(self) -> None:
        """Makes the environment unless it is there and of these very packages."""
        wanted = PEERS / f"{self.library}.txt"
        stamp = self._venv / "installed.txt"
        if stamp.exists() and stamp.read_bytes() == wanted.read_bytes():
            return
        _run_quietly([sys.executable, "-m", "venv", "--clear", str(self._venv)])
        pip = [str(self._python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        if self.one_by_one:
            for line in reversed(wanted.read_text(encoding="utf-8").splitlines()):
                if not line.startswith("#"):
                    _run_quietly([*pip, line])
        else:
            _run_quietly([*pip, "-r", str(wanted)])
        stamp.write_bytes(wanted.read_bytes())

    def run(self, task: Path) -> Ran:
        """Its program, which prints an object of JSON as its last line."""
        return run([str(self._python), str(PEERS / f"{self.program}.py"), str(task)])

    def crawl(self, task: Path) -> "Read":
        ran = self.run(task)
        told = orjson.loads(ran.out.splitlines()[-1])
        return Read(told["pages"], told["matches"], ran.cpu, ran.wall)

    @property
    def _venv(self) -> Path:
        return VENVS / self.library

    @property
    def _python(self) -> Path:
        return self._venv / "bin" / "python"


@dataclass(frozen=True, slots=True)
class Read:
    """What a contestant has read, and the CPU and wall time of its whole program."""

    pages: int
    matches: int
    cpu: float
    wall: float

    @property
    def per_page(self) -> float:
        """CPU in milliseconds."""
        return self.cpu / self.pages * 1000


def peer_versions() -> dict[str, str]:
    return dict(pin for path in sorted(PEERS.glob("*.txt")) for pin in _PIN.findall(path.read_text(encoding="utf-8")))


def _run_quietly(command: list[str]) -> None:
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise BenchFailed(f"{' '.join(command[1:4])} failed: {ran.stderr.strip()[-300:]}")
