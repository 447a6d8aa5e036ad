"""Open files and what fits under their limit."""

import subprocess
import sys

import pytest

from gossamer.fetch.http import capacity


@pytest.mark.parametrize(("limit", "visits"), [(20_000, 3_960), (1_024, 164), (203, 1), (64, 1)])
def test_capacity_leaves_room_for_our_own_files(limit: int, visits: int) -> None:
    assert capacity(limit) == visits


def test_the_soft_limit_is_raised_to_the_hard_one() -> None:
    # In a process of its own: a limit once lowered would stay lowered for the other tests.
    code = (
        "import resource as r; from gossamer.fetch.http import raise_open_files\n"
        "hard = r.getrlimit(r.RLIMIT_NOFILE)[1]; r.setrlimit(r.RLIMIT_NOFILE, (64, min(hard, 512)))\n"
        "print(raise_open_files(), r.getrlimit(r.RLIMIT_NOFILE)[0], raise_open_files())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["512", "512", "512"]
