"""`locust -f tests/load_test.py --host http://127.0.0.1:8000`: the load of bench/load.py, where people look for it.

No test of pytest's: `make load` measures with it, and says which limits are kept.
"""

from bench.load import Fetcher, Reader, Scraper

__all__ = ["Fetcher", "Reader", "Scraper"]
