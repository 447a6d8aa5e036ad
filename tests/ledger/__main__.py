"""`python -m tests.ledger`: the proof of zero overshoot over many seeds, on both databases."""

import argparse
import asyncio
import signal
import sys
import tempfile
from pathlib import Path

from gossamer.clock import SystemClock
from gossamer.db.database import open_database
from gossamer.db.schema import upgrade
from tests.chaos.postgres import postgres_server
from tests.ledger.trial import CAP, check, spend

MOST_KILLS = 3


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.ledger", description="Spend up to the cap, many times.")
    parser.add_argument("--seeds", type=int, default=50, help="how many, on each database")
    parser.add_argument("--first", type=int, default=1, help="the first of them")
    parser.add_argument("--only", choices=("sqlite", "postgres"), help="one of the databases")
    options = parser.parse_args()
    # Asked to end, it ends the servers it has started too.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    failed = done = 0
    with tempfile.TemporaryDirectory(prefix="gossamer-ledger-") as name, postgres_server() as server:
        folder = Path(name)
        for seed in range(options.first, options.first + options.seeds):
            urls = {"sqlite": f"sqlite:///{folder}/{seed}.db", "postgres": server.create(f"ledger_{seed}")}
            for kind, url in urls.items():
                if options.only in (None, kind):
                    done += 1
                    failed += not asyncio.run(_trial(kind, url, seed))
    print(f"{failed} of {done} trials failed" if failed else f"all {done} trials hold", flush=True)  # noqa: T201
    return 1 if failed else 0


async def _trial(kind: str, url: str, seed: int) -> bool:
    database = open_database(url, SystemClock())
    await database.write(upgrade)
    await database.close()
    try:
        found = await spend(url, seed, kills=1 + seed % MOST_KILLS)
        check(found)
    except AssertionError as error:
        print(f"seed {seed} {kind}: FAILED {error}", flush=True)  # noqa: T201
        return False
    assumed = [one for one in found.charges.values() if one.assumed]
    print(  # noqa: T201
        f"seed {seed} {kind}: {found.kills} kills, {len(found.bill)} requests; reserved and spent at most {found.most}"
        f" of {CAP} in {found.looks} looks; booked {found.budget.spent.credits}, {len(assumed)} requests of it assumed"
        f" at {sum(one.credits for one in assumed)}; billed {sum(found.bill.values())}",
        flush=True,
    )
    return True


if __name__ == "__main__":
    sys.exit(main())
