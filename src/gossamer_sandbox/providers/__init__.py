"""Providers to try things on: four that answer like the real ones, get pages from the sample web, and keep a bill.

    async with serve(web) as sample, emulate("scrapingbee", sample.connect_to, at_once=5) as bee:
        ...  # GOSSAMER_SCRAPINGBEE_URL is bee.url, GOSSAMER_SCRAPINGBEE_KEY is bee.key
        bee.storms.add(Storm(Kind.STATUS, times=3, status=503))
    assert bee.bill.total == 17 and bee.most <= 5

Nothing leaves the machine: hosts that `connect_to` does not cover do not exist. From a shell: `python -m
gossamer_sandbox.providers`.
"""

from gossamer_sandbox.providers.bill import Bill, Entry, read_bill
from gossamer_sandbox.providers.running import EMULATORS, Running, emulate
from gossamer_sandbox.providers.storms import Kind, Storm

__all__ = ["EMULATORS", "Bill", "Entry", "Kind", "Running", "Storm", "emulate", "read_bill"]
