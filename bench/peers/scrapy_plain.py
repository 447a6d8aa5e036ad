"""Scrapy as its documentation has it: every default, a link extractor, selectors; only more requests at once."""
# mypy: ignore-errors

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy_loopback import LoopbackResolver
from work import VISIBLE_TEXT, Task, Totals, host_of

SETTINGS = {
    "ROBOTSTXT_OBEY": True,
    "CONCURRENT_REQUESTS": 104,
    "LOG_LEVEL": "INFO",
    "TWISTED_DNS_RESOLVER": LoopbackResolver,
}


class PlainSpider(scrapy.Spider):
    name = "plain"

    def __init__(self, task, totals):
        super().__init__()
        self.task, self.totals = task, totals
        self.extractor = LinkExtractor()

    async def start(self):
        for host in self.task.hosts:
            yield scrapy.Request(f"http://{host}:{self.task.port}/")

    def parse(self, response):
        links = self.extractor.extract_links(response)
        title = response.xpath("//title/text()").get(default="")
        text = " ".join(response.xpath(VISIBLE_TEXT).getall())
        self.totals.add(len(links), title, self.task.counter.count(f"{title} {text}"))
        here = host_of(response.url)
        for link in links:
            if host_of(link.url) == here:
                yield response.follow(link)


def main():
    task, totals = Task(), Totals()
    process = CrawlerProcess(SETTINGS)
    process.crawl(PlainSpider, task=task, totals=totals)
    process.start()
    totals.tell()


if __name__ == "__main__":
    main()
