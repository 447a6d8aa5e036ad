"""Tuned Scrapy with its selectors left aside: pages are taken apart by lxml itself, written for speed alone.

What is left of Scrapy is its engine, its downloader and its scheduler.
"""
# mypy: ignore-errors

from lxml import etree
from scrapy_tuned import TunedSpider, crawl

HIDDEN = ("script", "style", "template", "noscript")


class SpiderByHand(TunedSpider):
    name = "by-hand"

    def read(self, response):
        root = etree.fromstring(response.body, etree.HTMLParser(encoding="utf-8", remove_comments=True))
        hrefs = root.xpath("//a/@href")
        title = root.findtext(".//title") or ""
        etree.strip_elements(root, *HIDDEN, with_tail=False)
        body = root.find("body")
        return hrefs, title, " ".join(body.itertext()) if body is not None else ""


if __name__ == "__main__":
    crawl(SpiderByHand)
