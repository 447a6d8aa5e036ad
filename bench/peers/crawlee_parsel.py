"""Crawlee's ParselCrawler with its storage in memory, its own HTTP client and as many requests at once as it likes.

That client can be told no addresses for names, so nginx is its proxy: for plain HTTP this is the same request to the
same server, with the whole address in its first line.
"""
# mypy: ignore-errors

import asyncio
import logging

import uvloop
from crawlee import ConcurrencySettings
from crawlee.crawlers import ParselCrawler
from crawlee.proxy_configuration import ProxyConfiguration
from crawlee.storage_clients import MemoryStorageClient
from work import VISIBLE_TEXT, Task, Totals, absolute

AT_ONCE = 104


async def crawl(task, totals):
    crawler = ParselCrawler(
        proxy_configuration=ProxyConfiguration(proxy_urls=[f"http://127.0.0.1:{task.port}"]),
        storage_client=MemoryStorageClient(),
        concurrency_settings=ConcurrencySettings(
            min_concurrency=AT_ONCE, max_concurrency=AT_ONCE, desired_concurrency=AT_ONCE
        ),
        use_session_pool=False,
        retry_on_blocked=False,
        configure_logging=False,
    )

    @crawler.router.default_handler
    async def read(context):
        selector = context.selector
        links = absolute(selector.xpath("//a/@href").getall(), context.request.url)
        title = selector.xpath("//title/text()").get(default="")
        text = " ".join(selector.xpath(VISIBLE_TEXT).getall())
        totals.add(len(links), title, task.counter.count(f"{title} {text}"))
        await context.enqueue_links(strategy="same-hostname")

    await crawler.run([f"http://{host}/" for host in task.hosts])


def main():
    logging.basicConfig(level=logging.ERROR)
    task, totals = Task(), Totals()
    uvloop.install()
    asyncio.run(crawl(task, totals))
    totals.tell()


if __name__ == "__main__":
    main()
