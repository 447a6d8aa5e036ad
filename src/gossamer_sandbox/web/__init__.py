"""A sample web: thousands of made-up sites on one port, and the truth about what is in them.

    web = SampleWeb(sites=200, seed=7)
    async with serve(web, log=path) as running:
        ...  # every name of web.hosts() is answered on 127.0.0.1, port running.port
    truth = web.truth(Caps(pages_per_site=100))

The page for (seed, host, path) is always the same bytes. `proof` holds a crawl against the truth; `keywords` has the
rule by which mentions are counted, `reach` the rules by which pages are reached. From a shell: `python -m
gossamer_sandbox.web`.
"""

from gossamer_sandbox.web.reach import Caps
from gossamer_sandbox.web.server import Running, serve
from gossamer_sandbox.web.web import SampleWeb

__all__ = ["Caps", "Running", "SampleWeb", "serve"]
