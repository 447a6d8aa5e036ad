"""Who asks a server for more and more: `locust -f bench/load.py`, which `make load` calls with everything it needs.

Beside `--host`, the server's address, it goes by the environment: GOSSAMER_KEY is a key that may submit, LOAD_KIND says
what is asked for, LOAD_URLS is a file of pages that may be scraped, LOAD_WEB is where these are answered (`direct` asks
there, so that what a scrape takes can be told from what fetching takes), LOAD_JOBS is a file of jobs to look at.
`-u` is how many requests are made per second. Beside scrapes a few of the same pages are fetched directly all the time,
so that both are of the same moments and the same load.
"""

import os
import random
import time
from itertools import cycle
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from locust import FastHttpUser, task

KIND = os.environ.get("LOAD_KIND", "scrape")
BESIDE = int(os.environ.get("LOAD_BESIDE", "10"))
KEY = {"Authorization": f"Bearer {os.environ.get('GOSSAMER_KEY', '')}"}


def _lines(name: str) -> list[str]:
    path = os.environ.get(name)
    return Path(path).read_text(encoding="utf-8").split() if path else []


PAGES = cycle(_lines("LOAD_URLS") or ["https://example.com/"])
JOBS = cycle(_lines("LOAD_JOBS") or [""])


class Asking(FastHttpUser):
    """One request per second each."""

    abstract: ClassVar[bool] = True
    connection_timeout = network_timeout = 60.0

    due = 0.0

    def on_start(self) -> None:
        # Each at a moment of its own: all of them start at once, and would ask at once in every second that follows.
        # Locust's own pacing counts from when a user was made, and so puts them back in step after the first request.
        self.due = time.perf_counter() + random.random()
        time.sleep(self.due - time.perf_counter())

    def wait_time(self) -> float:
        self.due = max(self.due + 1.0, time.perf_counter())
        return max(0.0, self.due - time.perf_counter())


class Scraper(Asking):
    """One page, waited for."""

    abstract = KIND != "scrape"

    @task
    def scrape(self) -> None:
        body = {"url": next(PAGES), "formats": ["text"]}
        with self.client.post("/v1/scrape", json=body, headers=KEY, name="scrape", catch_response=True) as answer:
            # A 202 would be a promise, and not what was waited for.
            if answer.status_code != 200:
                answer.failure(f"{answer.status_code}: {(answer.text or '')[:200]}")


class Reader(Asking):
    """How a job stands."""

    abstract = KIND != "look"

    @task
    def look(self) -> None:
        self.client.get(f"/v1/jobs/{next(JOBS)}", headers=KEY, name="look")


class Fetcher(Asking):
    """The same pages from where they are, each over a connection of its own, as a visit has one."""

    abstract = KIND != "scrape"
    fixed_count = BESIDE if KIND == "scrape" else 0

    @task
    def fetch(self) -> None:
        url = urlsplit(next(PAGES))
        headers = {"Host": url.netloc, "Connection": "close"}
        self.client.get(f"{os.environ['LOAD_WEB']}{url.path or '/'}", headers=headers, name="direct")
