"""The pages of one visit: which may be requested, which come next, and when the crawl is over."""
