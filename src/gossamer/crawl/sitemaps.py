"""Reading a site's sitemaps, one file at a time and without ever holding one in memory."""

import asyncio
from datetime import datetime, timedelta

from gossamer.clock import Clock
from gossamer.crawl.redirects import Redirects
from gossamer.crawl.requester import Requester
from gossamer.crawl.robots import RobotsReader
from gossamer.fetch import FetchError
from gossamer.frontier.candidates import SitemapQueue
from gossamer.frontier.frontier import Frontier
from gossamer.judge import find_trouble
from gossamer.judge.next_step import LONGEST_WAIT
from gossamer.model.document import Response
from gossamer.model.trouble import Cure, Trouble
from gossamer.parse.sitemap import MOST_BYTES, SitemapReader

_BITE = 2_048  # bytes


class SiteSitemaps:
    """Sitemap reading of one visit. Entries are passed to the frontier as they arrive."""

    def __init__(self, requester: Requester, robots: RobotsReader, redirects: Redirects, clock: Clock) -> None:
        self._requester = requester
        self._robots = robots
        self._redirects = redirects
        self._clock = clock
        self.not_before: datetime | None = None  # until when the site asked to be left alone

    async def read_next(self, frontier: Frontier, home: str) -> bool:
        """Read one more file; False if none is left."""
        queue = frontier.sitemaps
        if not queue.begun:
            rules = await self._robots.rules(home)
            frontier.begin_sitemaps(() if isinstance(rules, Trouble) else rules.sitemaps())
        file = queue.next()
        if file is None:
            return False
        trouble = await self._read(file, queue)
        if trouble and (trouble.retry_after or 0) > LONGEST_WAIT:
            queue.give_up()
            return False
        if trouble and trouble.retry_after:
            self.not_before = self._clock.now() + timedelta(seconds=trouble.retry_after)
        queue.close(again=trouble is not None and trouble.reason.cure is Cure.WAIT)
        return True

    async def _read(self, file: str, queue: SitemapQueue) -> Trouble | None:
        """Read a file; return the reason if it could not be read to its end."""
        reader = SitemapReader()

        async def sink(chunk: bytes | memoryview) -> bool:
            # A little at a time: two kilobytes may be two megabytes once they are unpacked, and others are waiting.
            for start in range(0, len(chunk), _BITE):
                queue.take(reader.feed(bytes(chunk[start : start + _BITE])))
                if reader.over:
                    return True
                await asyncio.sleep(0)
            return False

        async def ask(url: str) -> Response:
            return await self._requester.run_errand(url, MOST_BYTES, sink)

        try:
            answer = await self._redirects.follow(file, ask)
        except FetchError as error:
            return error.trouble
        finally:
            # Whatever went wrong, what was read before that was really there.
            queue.take(reader.finish())
        if isinstance(answer, Trouble):
            return answer
        return find_trouble(answer) if isinstance(answer, Response) else None
