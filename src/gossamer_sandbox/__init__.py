"""Shipped for tests, ours and other people's: a small web to crawl, and the contracts of the seams."""
