"""The web a job is run on, and how: the same for those that are harmed and those that are left alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson

from tests.stories.program import Web, sample_web

LEASE = 3.0  # seconds
PROCESSES = ("--processes", "2")
_SPARE = 5  # one site in so many more is made than is listed


@dataclass(frozen=True, slots=True)
class Ground:
    """How many sites, of which size, and how many requests a second each of them gets."""

    sites: int
    rate: int
    smallest: int
    largest: int

    @property
    def settings(self) -> dict[str, str]:
        return {
            "GOSSAMER_DOMAIN_RATE": str(self.rate),
            "GOSSAMER_LEASE": f"{LEASE:g}s",
            "GOSSAMER_PROCESSES": PROCESSES[1],
            # Not so short that a busy machine gives up on a request that still arrives, right beside the next one.
            "GOSSAMER_HTTP_TIMEOUT": "4s",
        }

    @contextmanager
    def web(self, folder: Path) -> Iterator[Web]:
        """A web that has met nobody yet. Sites with a Crawl-delay are not listed: one alone would take a minute."""
        size = ("--size-min", str(self.smallest), "--size-max", str(self.largest))
        sites = ("--sites", str(self.sites + self.sites // _SPARE), "--seed", "5", "--nasty", "0.15")
        with sample_web(folder, *sites, *size, "--retry-after-max", "2", "--slow-seconds", "0.3") as web:
            truth = orjson.loads(web.truth.read_bytes())
            quick = [site["listed_as"] for site in truth["sites"] if not site["crawl_delay"]]
            assert len(quick) >= self.sites
            web.domains.write_text("".join(f"{name}\n" for name in quick[: self.sites]), encoding="utf-8")
            yield web


LONG = Ground(sites=300, rate=50, smallest=10, largest=24)
SHORT = Ground(sites=60, rate=5, smallest=12, largest=20)
# What a cluster is for: many domains, each at the pace of a real site.
CLUSTER_GROUND = Ground(sites=40, rate=1, smallest=4, largest=7)
