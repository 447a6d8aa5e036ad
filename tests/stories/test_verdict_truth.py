"""Every page of several sample webs, read and harvested as in a job: judged as the truth has it."""

from collections import Counter
from datetime import UTC, datetime

import pytest

from gossamer.model.document import Document, Response
from gossamer.model.page import Page
from gossamer.parse.document import parse_document
from gossamer.recipes.prospect.harvest import BoundProspect
from gossamer.recipes.prospect.params import ProspectParams
from gossamer_sandbox.web import SampleWeb
from gossamer_sandbox.web.answer import page_answer
from gossamer_sandbox.web.keywords import CLIENT, COMPETITORS, KEYWORDS
from gossamer_sandbox.web.mentions import mentions_of
from gossamer_sandbox.web.page import Manner, PagePlan
from gossamer_sandbox.web.profile import Profile

RECIPE = BoundProspect(
    ProspectParams(keywords=list(KEYWORDS), client_domains=[CLIENT], competitor_domains=list(COMPETITORS))
)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def harvested(web: SampleWeb, profile: Profile, plan: PagePlan) -> dict[str, tuple[object, ...]]:
    answer = page_answer(web.sites.settings, profile, plan)
    headers = {name.lower(): value for name, value in answer.headers}
    url = profile.origin + plan.path
    document = parse_document(Response(url, url, answer.status, headers, answer.body, "direct", NOW))
    assert isinstance(document, Document)
    rows = [record.data for record in RECIPE.harvest(Page.at(url), document).records]
    return {str(row["keyword"]): (row["frequency"], row["verdict"], row["position"]) for row in rows}


@pytest.mark.parametrize("seed", [7, 11, 23])
def test_every_page_is_judged_as_the_truth_has_it(seed: int) -> None:
    web = SampleWeb(sites=40, seed=seed, nasty=0.7)
    judged: Counter[str] = Counter()
    for number in web.sites.numbers:
        profile = web.sites.profile(number)
        for plan in web.sites.site(number).pages.values():
            if plan.manner in (Manner.PAGE, Manner.SLOW):
                expected = {
                    keyword: (mention.frequency, mention.verdict, mention.position)
                    for keyword, mention in mentions_of(plan, profile.name.host).items()
                }
                assert harvested(web, profile, plan) == expected, profile.origin + plan.path
                judged.update(f"{verdict} {position}" for _, verdict, position in expected.values())
    assert len(judged) == 16, "not every verdict was seen in every position"
