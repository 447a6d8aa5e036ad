"""The page for (seed, host, path) is always the same bytes: in any order, in any process."""

import hashlib
import os
import subprocess
import sys

from gossamer_sandbox.web import SampleWeb
from gossamer_sandbox.web.patience import Patience
from gossamer_sandbox.web.replies import Replies

PATHS = ("/", "/robots.txt", "/sitemap.xml", "/private/ledger", "/no/such/page", "/calendar/2031/04", "/cart/basket")


def digest(seed: int, *, backwards: bool = False) -> str:
    web = SampleWeb(sites=40, seed=seed, nasty=0.5)
    replies = Replies(web.sites, Patience())
    numbers = sorted(web.sites.numbers, reverse=backwards)
    bodies = {}
    for number in numbers:
        host = web.sites.profile(number).name.primary
        for path in (*PATHS, *list(web.sites.site(number).pages)[:6]):
            reply = replies.reply(host, path, gzip=False)
            bodies[host, path] = reply.start + reply.rest[: 0 if reply.status == 429 else None] + reply.body[:100_000]
    joined = b"".join(bodies[key] for key in sorted(bodies))
    return hashlib.sha256(joined).hexdigest()


def test_the_order_of_asking_changes_nothing() -> None:
    assert digest(7) == digest(7, backwards=True)


def test_another_seed_is_another_web() -> None:
    assert digest(7) != digest(8)


def test_another_process_gives_the_same_bytes() -> None:
    command = "from tests.sandbox.web.test_determinism import digest; print(digest(7))"
    environment = os.environ | {"PYTHONHASHSEED": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    other = subprocess.run(
        [sys.executable, "-c", command], env=environment, capture_output=True, check=True, timeout=60
    )
    assert other.stdout.decode().strip() == digest(7)


def test_the_truth_is_the_same_every_time() -> None:
    assert SampleWeb(sites=30, seed=4).truth() == SampleWeb(sites=30, seed=4).truth()
