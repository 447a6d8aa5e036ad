"""The article of each page by another library. Runs in an environment of its own, so it knows no module but that.

Run as `article_text.py TASK`: which library, the pages, and where to put the texts. Prints the CPU it took.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import orjson


def trafilatura() -> Callable[[str], str]:
    from trafilatura import extract

    return lambda page: extract(page, output_format="markdown") or ""


def readability() -> Callable[[str], str]:
    from lxml.html import fromstring
    from readability import Document

    return lambda page: str(fromstring(Document(page).summary()).text_content())


LIBRARIES = {"trafilatura": trafilatura, "readability-lxml": readability}


def main() -> None:
    task = orjson.loads(Path(sys.argv[1]).read_bytes())
    extract = LIBRARIES[task["library"]]()
    pages = {name: Path(path).read_text(encoding="utf-8") for name, path in task["pages"].items()}
    extract(next(iter(pages.values())))  # what is loaded at first use is not part of a page
    began = time.process_time()
    texts = {name: extract(page) for name, page in pages.items()}
    cpu = time.process_time() - began
    Path(task["texts"]).write_bytes(orjson.dumps(texts))
    sys.stdout.write(orjson.dumps({"cpu": cpu}).decode() + "\n")


if __name__ == "__main__":
    main()
