"""Which walks are cut off when a job is paused or the process ends."""

import asyncio
from datetime import timedelta
from uuid import UUID, uuid4

from gossamer.clock import FrozenClock
from gossamer.crawl.leases import HeldLease, HeldLeases
from gossamer.model.page import Visit


def _visit(lease: UUID) -> Visit:
    return Visit(
        id=uuid4(),
        job_id=uuid4(),
        site_id=uuid4(),
        host="a.test",
        domain="a.test",
        entries=("http://a.test/",),
        lane="http",
        lease=lease,
        deaths=0,
        walked=timedelta(),
        not_before=None,
        whole=True,
        notes=b"",
        robots={},
    )


async def test_a_walk_whose_page_has_come_or_is_paid_for_is_not_cut_off() -> None:
    clock = FrozenClock()
    leases = HeldLeases(clock, timedelta(seconds=60))
    crawling = [leases.take(_visit(uuid4()), clock.monotonic()) for _ in range(3)]
    asking, answered, paying = crawling
    for lease in crawling:
        lease.task = asyncio.create_task(asyncio.sleep(60))
    answered.answered = paying.paying = True
    await asyncio.sleep(0)
    leases.stop()
    clock.advance(5)

    leases.cut_off(3)
    await asyncio.sleep(0)
    assert [_is_cut_off(lease) for lease in crawling] == [True, False, False]

    answered.answered = paying.paying = False
    leases.cut_off(3)
    await asyncio.sleep(0)
    assert [_is_cut_off(lease) for lease in crawling] == [True, True, True]
    assert asking.stop.is_set()


def _is_cut_off(lease: HeldLease) -> bool:
    return lease.task is not None and lease.task.cancelled()
