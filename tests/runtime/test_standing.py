"""A working process that stands still is ended and replaced: nobody else would walk its domains."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from gossamer.app import open_app
from gossamer.runtime import process_pool as running
from gossamer.settings import Settings


def _children() -> set[int]:
    return {int(pid) for pid in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()}


async def test_a_child_without_a_sign_of_life_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_STANDSTILL", 15.0)  # a busy machine takes seconds to start one
    monkeypatch.setenv("GOSSAMER_HOME", str(tmp_path))
    before = _children()
    async with open_app(Settings(home=tmp_path, lease=1, processes=1)) as app:
        assert app.lock.take()
        runner = app.runner(1)
        assert await runner.start()
        (first,) = _children() - before
        looking = asyncio.create_task(runner.look_after())
        await asyncio.sleep(17)
        assert _children() - before == {first}  # it starts and lives: nobody ends it
        os.kill(first, signal.SIGSTOP)
        async with asyncio.timeout(60):
            while not (now := _children() - before) or first in now:
                await asyncio.sleep(0.1)
        looking.cancel()
        await runner.stop()
        await asyncio.gather(looking, return_exceptions=True)
    assert _children() == before
