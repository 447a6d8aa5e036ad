"""Three machines that see each other's servers over roads, one of which can be cut off.

Where this is permitted they are network namespaces with names of their own: a cable is pulled for real, packets vanish,
and the kernel tries again by its own rules. Elsewhere they are three loopback addresses whose roads fall silent.

A machine that is cut off still has the web, as a crawler does whose private network fails: that is the harder case,
since it could go on asking sites that others have taken over. (Requests that a dead road to the web holds back and
delivers later would come close behind others, which no crawler can do anything about.)
"""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from tests.chaos.roads import Road, Roads

DATABASE, REDIS, WEB = "database", "redis", "web"
COUNT = 3
_CABLES = {DATABASE: "c", REDIS: "c", WEB: "w"}  # of the cluster, and of the web


@dataclass(slots=True)
class Machine:
    """`prefix` begins a command that is to run on it; `cable` and `web_cable` are what is pulled out of it, if
    there are any."""

    name: str
    gateways: Mapping[str, str]
    prefix: Sequence[str] = ()
    cable: str = ""
    web_cable: str = ""
    roads: dict[str, Road] = field(default_factory=dict)

    def connect(self, roads: Roads, server: str, port: int) -> str:
        """A road to a server of ours; its address as it is seen from this machine."""
        road = self.roads[server] = roads.build(self.gateways[server], port)
        return road.address

    def cut_database(self) -> None:
        self.roads[DATABASE].cut()

    def mend_database(self) -> None:
        self.roads[DATABASE].mend()

    def cut_off(self) -> None:
        """From everything but the web."""
        if self.cable:
            _ip("link", "set", self.cable, "down")
        else:
            for server in (DATABASE, REDIS):
                self.roads[server].cut()

    def bring_back(self) -> None:
        if self.cable:
            _ip("link", "set", self.cable, "up")
        else:
            for server in (DATABASE, REDIS):
                self.roads[server].mend()

    def lose_web(self) -> None:
        """Its way out, and nothing else."""
        if self.web_cable:
            _ip("link", "set", self.web_cable, "down")
        else:
            self.roads[WEB].cut()

    def find_web(self) -> None:
        if self.web_cable:
            _ip("link", "set", self.web_cable, "up")
        else:
            self.roads[WEB].mend()


def no_namespaces() -> str:
    """Why machines cannot be namespaces here; "" if they can."""
    if os.getuid() != 0:
        return "network namespaces take root"
    if not all(shutil.which(program) for program in ("ip", "unshare", "hostname")):
        return "there is no 'ip', 'unshare' or 'hostname': run scripts/install-servers"
    try:
        with _namespace(0, os.getpid()):
            return ""
    except subprocess.CalledProcessError as error:
        return f"network namespaces are not permitted: {error.stderr.strip()}"


@contextmanager
def open_machines(*, namespaces: bool) -> Iterator[list[Machine]]:
    with ExitStack() as stack:
        numbers = range(1, COUNT + 1)
        if namespaces:
            yield [stack.enter_context(_namespace(number, os.getpid())) for number in numbers]
        else:
            yield [
                Machine(f"node-{number}", dict.fromkeys(_CABLES, f"127.0.{os.getpid() % 250}.{number}"))
                for number in numbers
            ]


@contextmanager
def _namespace(number: int, pid: int) -> Iterator[Machine]:
    """Two cables to it, and a network for each that nobody else here is likely to have."""
    name = f"gossamer-{pid}-{number}"
    cables = []
    _ip("netns", "add", name)
    try:
        _ip("-n", name, "link", "set", "lo", "up")
        network = f"10.{100 + (pid >> 8) % 100}.{pid % 256}"
        gateways: dict[str, str] = {}
        for place, cable in enumerate(sorted(set(_CABLES.values()))):
            here, there = f"g{pid}-{number}{cable}", f"e{cable}"
            first = 8 * number + 4 * place
            _ip("link", "add", here, "type", "veth", "peer", "name", there, "netns", name)
            cables.append(here)
            _ip("addr", "add", f"{network}.{first + 1}/30", "dev", here)
            _ip("link", "set", here, "up")
            _ip("-n", name, "addr", "add", f"{network}.{first + 2}/30", "dev", there)
            _ip("-n", name, "link", "set", there, "up")
            gateways |= {server: f"{network}.{first + 1}" for server, of in _CABLES.items() if of == cable}
        named = ("sh", "-c", f'hostname node-{number} && exec "$@"', "sh")
        prefix = ("ip", "netns", "exec", name, "unshare", "--uts", *named)
        yield Machine(f"node-{number}", gateways, prefix, f"g{pid}-{number}c", f"g{pid}-{number}w")
    finally:
        # One after the other: the cables would go with it, but some time later, and the next machine has their names.
        for cable in cables:
            _ip("link", "del", cable)
        _ip("netns", "del", name)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)
