"""Pages that must never yield a row are seen through by the judge itself, from the bytes alone."""

from datetime import UTC, datetime

import pytest

from gossamer.judge import find_flaw, find_trouble
from gossamer.model.document import Response
from gossamer.model.trouble import Trouble
from gossamer.parse.document import parse_document
from gossamer_sandbox.web import SampleWeb
from gossamer_sandbox.web.answer import page_answer
from gossamer_sandbox.web.page import Manner, PagePlan, Plant
from gossamer_sandbox.web.refused import REFUSED

WEB = SampleWeb(sites=20, seed=3, nasty=0)
KEYWORDS = (Plant("CRM software", "plain", "p"), Plant("顧客管理", "plain", "p"))


def judged(number: int, plan: PagePlan) -> Trouble | None:
    profile = WEB.sites.profile(number)
    answer = page_answer(WEB.sites.settings, profile, plan)
    url = profile.origin + plan.path
    headers = {name.lower(): value for name, value in answer.headers}
    response = Response(url, url, answer.status, headers, answer.body, "direct", datetime(2026, 1, 1, tzinfo=UTC))
    trouble = find_trouble(response)
    if trouble is not None:
        return trouble
    document = parse_document(response)
    return document if isinstance(document, Trouble) else find_flaw(document)


@pytest.mark.parametrize("manner", REFUSED, ids=lambda manner: manner.label)
@pytest.mark.parametrize("path", ["/", "/more/inside"])
def test_what_is_not_the_page_is_recognised_in_every_language(manner: Manner, path: str) -> None:
    for number in WEB.sites.numbers:
        trouble = judged(number, PagePlan(path, "bare", manner, plants=KEYWORDS))
        assert trouble is not None
        assert trouble.reason in manner.reasons


def test_ordinary_pages_are_believed() -> None:
    for number in WEB.sites.numbers:
        for plan in list(WEB.sites.site(number).pages.values())[:5]:
            assert judged(number, plan) is None, plan.path
