"""Scrapy with nothing it does not need: no middleware, no extension, no statistics, no filter of its own, on uvloop.

The spider remembers by itself which addresses it has seen, which spares Scrapy a request and a fingerprint per link.
"""
# mypy: ignore-errors

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy_loopback import LoopbackResolver
from work import VISIBLE_TEXT, Task, Totals, absolute

SETTINGS = {
    "DOWNLOADER_MIDDLEWARES_BASE": {},
    "SPIDER_MIDDLEWARES_BASE": {},
    "EXTENSIONS_BASE": {},
    "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
    "STATS_CLASS": "scrapy.statscollectors.DummyStatsCollector",
    "CONCURRENT_REQUESTS": 104,
    # Scrapy starts as many tasks for the results of every single page.
    "CONCURRENT_ITEMS": 1,
    "TELNETCONSOLE_ENABLED": False,
    "ROBOTSTXT_OBEY": False,
    "LOG_LEVEL": "WARNING",
    "LOG_VERSIONS": [],
    "ASYNCIO_EVENT_LOOP": "uvloop.Loop",
    "TWISTED_DNS_RESOLVER": LoopbackResolver,
}
# Without its middleware the time limit of a request is that of a connection.
PATIENCE = {"download_timeout": 180}


class TunedSpider(scrapy.Spider):
    name = "tuned"

    def __init__(self, task, totals):
        super().__init__()
        self.task, self.totals = task, totals
        self.seen = set()

    async def start(self):
        for host in self.task.hosts:
            yield self.request(f"http://{host}:{self.task.port}/")

    def request(self, url):
        self.seen.add(url)
        return scrapy.Request(url, dont_filter=True, meta=dict(PATIENCE))

    def parse(self, response):
        hrefs, title, text = self.read(response)
        links = absolute(hrefs, response.url)
        self.totals.add(len(links), title, self.task.counter.count(f"{title} {text}"))
        here = response.url[: response.url.index("/", 8) + 1]
        for url in links:
            if url.startswith(here) and url not in self.seen:
                yield self.request(url)

    def read(self, response):
        """The hrefs, title and visible text of a page."""
        hrefs = response.xpath("//a/@href").getall()
        title = response.xpath("//title/text()").get(default="")
        return hrefs, title, " ".join(response.xpath(VISIBLE_TEXT).getall())


def crawl(spider):
    task, totals = Task(), Totals()
    process = CrawlerProcess(SETTINGS)
    process.crawl(spider, task=task, totals=totals)
    process.start()
    totals.tell()


if __name__ == "__main__":
    crawl(TunedSpider)
