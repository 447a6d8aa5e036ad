"""Memory that one page gives up is kept for the next; what is free between what stays goes back to the system."""

import platform
import subprocess
import sys

import pytest

_GNU = platform.libc_ver()[0] == "glibc"

# Pieces too large for the interpreter's own allocator, every fiftieth of which stays: what is free between those would
# never be given back by itself.
_PROGRAM = """
import asyncio
from pathlib import Path
import gossamer.worker.__main__ as memory

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


@pytest.mark.skipif(not _GNU, reason="only GNU's allocator can be asked")
def test_what_is_free_between_what_stays_goes_back_to_the_system() -> None:
    ran = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True, timeout=60)
    before, after, kept = map(int, ran.stdout.split())
    assert kept == 800
    assert before - after > 50_000_000, f"{before:,} bytes, and {after:,} after giving back"


# Many times over what a page may take, all of it given up again, before and after memory is kept.
_PAGES = """
import resource
import gossamer.worker.__main__ as memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        pieces = [bytes(3_000) for _ in range(1_500)]
        del pieces
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

left = faults()
memory.keep_memory()
faults()
print(left, faults())
"""


@pytest.mark.skipif(not _GNU, reason="only GNU's allocator can be told")
def test_what_a_page_gives_up_is_there_for_the_next() -> None:
    ran = subprocess.run([sys.executable, "-c", _PAGES], capture_output=True, text=True, check=True, timeout=60)
    left, kept = map(int, ran.stdout.split())
    assert kept * 10 < left, f"{left:,} pages of memory asked for anew, and {kept:,} when they are kept"


# Six threads, each of which takes so many pieces once and gives them up.
_THREADS = """
import sys, threading
from pathlib import Path
import gossamer.worker.__main__ as memory

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

memory.keep_memory()
before, together = resident(), threading.Barrier(7)

def take():
    pieces = [bytes(3_000) for _ in range(int(sys.argv[1]))]
    together.wait()
    del pieces
    together.wait()  # all have given up what they took
    over.wait()

over = threading.Event()
threads = [threading.Thread(target=take) for _ in range(6)]
for thread in threads:
    thread.start()
together.wait()
together.wait()
memory._trim()()
print(before, resident())
over.set()
"""


@pytest.mark.skipif(not _GNU, reason="only GNU's allocator can be told")
@pytest.mark.parametrize("pieces", [7_000, 10_000, 15_000])
def test_threads_that_took_much_once_keep_little_of_it(pieces: int) -> None:
    command = [sys.executable, "-c", _THREADS, str(pieces)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    before, after = map(int, ran.stdout.split())
    assert after - before < 20_000_000, f"{before:,} bytes, and {after:,} after much was taken and given up"
