"""Memory that is free between what stays goes back to the system."""

import subprocess
import sys

import pytest

# Pieces too large for the interpreter's own allocator, every fiftieth of which stays: what is free between those would
# never be given back by itself.
_PROGRAM = """
import asyncio
from pathlib import Path
import gossamer.worker.memory as memory

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

pieces = [bytes(3_000) for _ in range(40_000)]
kept = pieces[::50]
del pieces
before = resident()
memory._EVERY = 0.05

async def main():
    giving = asyncio.create_task(memory.give_back_memory())
    await asyncio.sleep(1)
    giving.cancel()

asyncio.run(main())
print(before, resident(), len(kept))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks the system by a file that others do not have")
def test_what_is_free_between_what_stays_goes_back_to_the_system() -> None:
    ran = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True, timeout=60)
    before, after, kept = map(int, ran.stdout.split())
    assert kept == 800
    assert before - after > 50_000_000, f"{before:,} bytes, and {after:,} after giving back"
