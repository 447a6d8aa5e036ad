"""Ids of processes that know nothing of each other."""

import subprocess
import sys


def test_forked_processes_make_ids_with_ends_of_their_own() -> None:
    code = (
        "import os\nfrom datetime import UTC, datetime\nfrom gossamer.model.ids import new_id, short\n"
        "for _ in range(3):\n"
        "    if not os.fork():\n"
        "        os.write(1, (short(new_id(datetime.now(UTC))) + '\\n').encode())\n"
        "        os._exit(0)\n"
        "    os.wait()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert len(set(done.stdout.split())) == 3
