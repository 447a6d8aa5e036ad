"""Verdicts and positions in the truth, held against what can be read on the pages."""

from collections import Counter
from urllib.parse import urlsplit

import pytest

from gossamer.model.url import domain_of
from gossamer_sandbox.web import SampleWeb
from gossamer_sandbox.web.answer import page_answer
from gossamer_sandbox.web.keywords import CLIENT, COMPETITORS, KEYWORDS
from gossamer_sandbox.web.mentions import mentions_of, says_nofollow
from gossamer_sandbox.web.page import Anchor, Manner, PagePlan, Plant
from tests.sandbox.web.reading import Read, count, decode, positions, read

WEB = SampleWeb(sites=70, seed=11, nasty=0.6)
CRM = Plant("CRM", "plain", "p")
SHUNNED = {"nofollow", "ugc", "sponsored"}


def verdict(page: Read, keyword: str, host: str, *, sealed: bool) -> str:
    """Read from the page: its links, their text and its own wish."""
    targets = [urlsplit(href).hostname or host for href, _ in page.links if not href.startswith("http://[")]
    targets = [target.lower() for target in targets]
    rels = [set(rel.lower().split()) for href, rel in page.links if not href.startswith("http://[")]
    labels = [
        label for (href, _), label in zip(page.links, page.labels, strict=True) if not href.startswith("http://[")
    ]
    client = [
        bool(rel & SHUNNED) or sealed for target, rel in zip(targets, rels, strict=True) if lies_in(target, CLIENT)
    ]
    if client:
        return "nofollow" if all(client) else "linked"
    if any(lies_in(target, rival) for target in targets for rival in COMPETITORS):
        return "links-elsewhere"
    outside = [label for target, label in zip(targets, labels, strict=True) if domain_of(target) != domain_of(host)]
    return "links-elsewhere" if any(keyword in count(label, KEYWORDS) for label in outside) else "unlinked"


def lies_in(host: str, domain: str) -> bool:
    return host == domain or host.endswith("." + domain)


def test_every_verdict_and_position_can_be_read_on_the_page() -> None:
    seen: Counter[str] = Counter()
    for number in WEB.sites.numbers:
        profile = WEB.sites.profile(number)
        for plan in WEB.sites.site(number).pages.values():
            mentions = mentions_of(plan, profile.name.host)
            if plan.manner not in (Manner.PAGE, Manner.SLOW) or not mentions:
                continue
            answer = page_answer(WEB.sites.settings, profile, plan)
            page = read(decode(answer.body, dict(answer.headers)["Content-Type"]))
            said = page.metas.get("robots", "").lower()
            sealed = "nofollow" in said or said == "none" or plan.x_robots in ("nofollow", "Gossamer: nofollow")
            assert sealed == says_nofollow(plan)
            given = {keyword: mention.position for keyword, mention in mentions.items()}
            assert given == positions(page, KEYWORDS), (profile.name.host, plan.path)
            for keyword, mention in mentions.items():
                assert mention.verdict == verdict(page, keyword, profile.name.host, sealed=sealed), (plan.path, keyword)
            seen.update(mention.verdict for mention in mentions.values())
            seen.update(given.values())
    assert min(seen[verdict] for verdict in ("linked", "nofollow", "links-elsewhere", "unlinked")) > 100, seen
    assert min(seen[position] for position in ("title", "heading", "body", "navigation")) > 50, seen


def said(*anchors: Anchor, plants: tuple[Plant, ...] = (CRM,), **more: str) -> str:
    return mentions_of(PagePlan("/x", anchors=anchors, plants=plants, **more), "a.test")["CRM"].verdict  # type: ignore[arg-type]


TO_CLIENT, SHY = Anchor(f"https://www.{CLIENT}/x"), Anchor(f"http://{CLIENT}/", rel="noopener UGC")
TO_RIVAL = Anchor(f"//blog.{COMPETITORS[0]}/", rel="nofollow")


def test_verdicts_go_by_precedence() -> None:
    assert said() == "unlinked"
    assert said(TO_CLIENT, SHY, TO_RIVAL) == "linked"
    assert said(SHY, TO_RIVAL) == "nofollow"
    assert said(TO_RIVAL) == "links-elsewhere"
    assert said(TO_CLIENT, meta_robots="noindex, NONE") == "nofollow"
    assert said(TO_CLIENT, x_robots="gossamer: nofollow") == "nofollow"
    assert said(TO_CLIENT, x_robots="otherbot: nofollow") == "linked"


@pytest.mark.parametrize("host", [f"not-{CLIENT}", f"{CLIENT}.lookalike.test", "news-wire.test"])
def test_a_link_to_another_site_counts_only_for_the_keywords_in_its_text(host: str) -> None:
    assert said(Anchor(f"http://{host}/")) == "unlinked"
    assert said(Anchor(f"http://{host}/", plant=CRM), plants=()) == "links-elsewhere"
    assert said(Anchor(f"http://{host}/", plant=Plant("POS", "plain"))) == "unlinked"
    assert said(Anchor(f"http://{host}/", plant=Plant("small business CRM software", "plain"))) == "links-elsewhere"


def test_the_site_itself_and_its_subdomains_are_not_elsewhere() -> None:
    for href in ("/y", "//a.test/y", "http://annex.a.test/y", "https://www.a.test/"):
        assert said(Anchor(href, plant=CRM), plants=()) == "unlinked", href


def test_the_best_place_wins() -> None:
    places = ("foot", "nav", "p", "h4", "title")
    found = []
    for most in range(1, len(places) + 1):
        plants = tuple(Plant("CRM", "plain", place) for place in places[:most])
        found.append(mentions_of(PagePlan("/x", plants=plants), "a.test")["CRM"].position)
    assert found == ["navigation", "navigation", "body", "heading", "title"]
