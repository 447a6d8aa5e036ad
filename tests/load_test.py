"""`GOSSAMER_KEY=gsk_... locust -f tests/load_test.py --host=http://127.0.0.1:8000`: a server under everyday requests.

Nobody but the given host is asked, and it is not asked to fetch anything, unless LOAD_URLS names a file of pages that
may be scraped. `make load` measures with bench/load.py, and says which limits are kept.
"""

import os
import random
from pathlib import Path
from typing import ClassVar

from locust import FastHttpUser, between, task

KEY = {"Authorization": f"Bearer {os.environ.get('GOSSAMER_KEY', '')}"}
PAGES = Path(os.environ["LOAD_URLS"]).read_text(encoding="utf-8").split() if os.environ.get("LOAD_URLS") else []


class Caller(FastHttpUser):
    """A program that looks after its jobs."""

    wait_time = between(0.5, 1.5)
    jobs: ClassVar[list[str]] = []

    @task(4)
    def look(self) -> None:
        if self.jobs:
            self.client.get(f"/v1/jobs/{random.choice(self.jobs)}", headers=KEY, name="/v1/jobs/ID")

    @task(2)
    def listing(self) -> None:
        with self.client.get("/v1/jobs?limit=50", headers=KEY, name="/v1/jobs", catch_response=True) as answer:
            if answer.status_code == 200:
                self.jobs[:] = [one["id"] for one in answer.json()["items"]]
            else:
                answer.failure(f"{answer.status_code}: {(answer.text or '')[:200]}")

    @task(1)
    def account(self) -> None:
        self.client.get("/v1/account", headers=KEY, name="/v1/account")

    @task(1)
    def health(self) -> None:
        self.client.get("/api/health", name="/api/health")

    @task(2)
    def scrape(self) -> None:
        if PAGES:
            body = {"url": random.choice(PAGES), "formats": ["text"]}
            self.client.post("/v1/scrape", json=body, headers=KEY, name="/v1/scrape")
