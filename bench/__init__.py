"""Benchmarks: what a user waits for and what a page costs, beside a floor and beside others, taken in the same run.

python -m bench                 all of them, printed as one JSON object
python -m bench startup crawl   some of them
python -m bench --quick         small sizes, to see that they work
python -m bench --table         the figures of the latest run as a Markdown table
python -m bench --write         the same table, put into docs/reference/figures.md

`crawl` and `keywords` read real pages from nginx: packages of Debian, which they install by apt-get where they are
missing. `browser_text` does so too, and installs Chromium to hold our text of them against. The other crawlers get
virtual environments of their own in bench/out.
"""
