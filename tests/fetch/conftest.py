"""Servers and sessions for the fetch tests. Names under `.test` lead to the test's own site."""

import os
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from gossamer.clock import FrozenClock, SystemClock
from gossamer.fetch.guard import Guard, parse_connect_to
from gossamer.fetch.http import HttpRung, HttpSession, read_trust
from gossamer.fetch.resolve import Resolver
from tests.fetch.loopback import NameServer, Site

MakeSession = Callable[[str], HttpSession]


@dataclass(frozen=True, slots=True)
class Certificates:
    """A certificate authority of our own and a certificate by it for shop.test."""

    authority: Path
    chain: Path
    key: Path

    def server(self, *protocols: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.chain, self.key)
        if protocols:
            context.set_alpn_protocols(list(protocols))
        return context


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with Site() as running:
        yield running


@pytest.fixture
async def name_server() -> AsyncIterator[NameServer]:
    server = await NameServer().start()
    yield server
    server.close()


@pytest.fixture
async def resolver(name_server: NameServer) -> AsyncIterator[Resolver]:
    resolver = Resolver(SystemClock(), servers=[name_server.address], patience=timedelta(seconds=2))
    yield resolver
    await resolver.close()


@pytest.fixture
async def make_session(resolver: Resolver) -> AsyncIterator[MakeSession]:
    """A session under the CONNECT_TO rules given, closed at the end."""
    made: list[HttpSession] = []

    def make(rules: str) -> HttpSession:
        guard = Guard(resolver, rules=parse_connect_to(rules))
        session = HttpRung(guard, SystemClock(), connect_timeout=timedelta(seconds=1)).session(seed=len(made))
        made.append(session)
        return session

    yield make
    for session in made:
        await session.close()


@pytest.fixture
def session(site: Site, make_session: MakeSession) -> HttpSession:
    """A session for which every name under `.test` is the test's site."""
    return make_session(f"*.test=127.0.0.1:{site.port}")


@pytest.fixture
def frozen() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def trusting(resolver: Resolver, certificates: Certificates) -> Callable[[str], HttpSession]:
    """A session that trusts the test's own certificate authority."""

    def make(rules: str) -> HttpSession:
        guard = Guard(resolver, rules=parse_connect_to(rules))
        rung = HttpRung(guard, SystemClock(), trust=read_trust(certificates.authority))
        return rung.session(seed=0)

    return make


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    openssl = shutil.which("openssl")
    if openssl is None:
        if os.environ.get("CI"):
            pytest.fail("openssl is missing")
        pytest.skip("openssl is missing")
    folder = tmp_path_factory.mktemp("certificates")
    made = Certificates(folder / "ca.pem", folder / "site.pem", folder / "site.key")

    def run(*arguments: str) -> None:
        subprocess.run([openssl, *arguments], cwd=folder, check=True, capture_output=True)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    run("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=Test authority")
    run("req", *key, "-keyout", "site.key", "-out", "site.csr", "-subj", "/CN=site.test")
    (folder / "names").write_text("subjectAltName=DNS:shop.test\n")
    signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names")
    run("x509", "-req", "-in", "site.csr", "-out", "site.pem", *signed)
    return made
