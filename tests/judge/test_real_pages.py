"""No false alarm on real pages, where the folder with them is."""

import gzip
import os
from pathlib import Path

import pytest

from gossamer.judge import find_flaw, find_trouble
from gossamer.model.trouble import Trouble
from gossamer.parse import parse_document
from tests.parse.answers import answer

FOLDER = Path(os.environ.get("GOSSAMER_TEST_PAGES", Path(__file__).parents[3] / "shared" / "data"))
PAGES = sorted(FOLDER.glob("*/html/*.html.gz"))


@pytest.mark.skipif(
    not PAGES, reason=f"no real pages at {FOLDER}: set GOSSAMER_TEST_PAGES to a folder with */html/*.html.gz"
)
def test_real_articles_and_products_are_good_pages() -> None:
    alarms = {}
    for path in PAGES:
        response = answer(gzip.decompress(path.read_bytes()), content_type="text/html")
        read = find_trouble(response) or parse_document(response)
        trouble = read if isinstance(read, Trouble) else find_flaw(read)
        if trouble is not None:
            alarms[path.name] = trouble
    assert alarms == {}
