"""`python -m tests.ledger`: the proof of zero overshoot over many seeds, on both databases."""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from gossamer.clock import SystemClock
from gossamer.store.database import open_database
from gossamer.store.schema import upgrade
from tests.chaos.postgres import postgres_server
from tests.ledger.trial import check, spend


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.ledger", description="Spend up to the cap, many times.")
    parser.add_argument("--seeds", type=int, default=50, help="how many, on each database")
    parser.add_argument("--first", type=int, default=1, help="the first of them")
    parser.add_argument("--only", choices=("sqlite", "postgres"), help="one of the databases")
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="gossamer-ledger-") as name, postgres_server() as server:
        folder = Path(name)
        for seed in range(options.first, options.first + options.seeds):
            urls = {"sqlite": f"sqlite:///{folder}/{seed}.db", "postgres": server.create(f"ledger_{seed}")}
            for kind, url in urls.items():
                if options.only in (None, kind):
                    failed += not asyncio.run(_trial(kind, url, seed, folder))
    return 1 if failed else 0


async def _trial(kind: str, url: str, seed: int, folder: Path) -> bool:
    database = open_database(url, SystemClock())
    await database.write(upgrade)
    await database.close()
    (folder / kind).mkdir(exist_ok=True)
    found = await spend(url, seed, folder / kind)
    assumed = sum(one.assumed for one in found.charges.values())
    told = f"seed {seed} {kind}: spent {found.budget.spent.credits}, {len(found.bill)} requests, {assumed} assumed"
    try:
        check(found)
    except AssertionError as error:
        print(f"{told}: FAILED {error}", flush=True)  # noqa: T201
        return False
    print(told, flush=True)  # noqa: T201
    return True


if __name__ == "__main__":
    sys.exit(main())
