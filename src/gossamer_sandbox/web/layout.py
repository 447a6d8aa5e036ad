"""From the plan of a page to its HTML: head, navigation, article, sidebar and footer, filled with prose."""

import html
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from gossamer_sandbox.web.dice import number
from gossamer_sandbox.web.forms import SHOWN, UNSEEN
from gossamer_sandbox.web.furniture import CHARSET_METAS, JSON_LD, SCRIPT, STYLE, extra_block, sidebar
from gossamer_sandbox.web.keywords import CLIENT, is_japanese
from gossamer_sandbox.web.page import Anchor, PagePlan, Plant
from gossamer_sandbox.web.profile import Profile
from gossamer_sandbox.web.prose import Prose, prose_in
from gossamer_sandbox.web.vocabulary import LABELS, Labels

_HEADED = ("blog", "magazine")  # kinds whose articles have a <header> of their own, which is no navigation
_LIST_IN_FULL = 100  # links; a longer list is written without teasers


@dataclass(frozen=True, slots=True)
class Sheet:
    """Everything the parts of one page are written with."""

    profile: Profile
    plan: PagePlan
    throw: Random
    prose: Prose
    labels: Labels

    def clause(self) -> str:
        return self.throw.choice(self.prose.clauses)

    def line(self, plants: Iterable[Plant]) -> str:
        """One line of text with all the plants in it, filler between them and at both ends."""
        text = self.clause()
        for plant in plants:
            gap = self.prose.gap if is_japanese(plant.phrase) else " "
            text = f"{text}{gap}{self.shown(plant)}{gap}{self.clause()}"
        return text

    def shown(self, plant: Plant) -> str:
        return SHOWN[plant.form](plant.phrase, self.throw)

    def label(self, anchor: Anchor) -> str:
        """The text of a link: a few words, or what is planted in it, alone or among others."""
        if anchor.plant is None:
            return self.clause()
        return self.shown(anchor.plant) if self.throw.random() < 0.5 else self.line((anchor.plant,))

    def planted(self, *places: str) -> list[Plant]:
        return [plant for plant in self.plan.plants if plant.place in places]

    def anchors(self, place: str) -> list[Anchor]:
        return [anchor for anchor in self.plan.anchors if anchor.place == place]


def page_html(profile: Profile, plan: PagePlan, throw: Random) -> str:
    """The whole page as text, not yet encoded."""
    sheet = Sheet(profile, plan, throw, prose_in(profile.language), LABELS[profile.language])
    body = _leaf(sheet) if plan.look == "leaf" else _full(sheet)
    return (
        f'<!DOCTYPE html>\n<html lang="{profile.language}">\n<head>\n{_head(sheet)}</head>\n'
        f'<body class="{profile.kind} {plan.look}">\n{body}</body>\n</html>\n'
    )


def _head(sheet: Sheet) -> str:
    plan, profile = sheet.plan, sheet.profile
    lines = []
    if profile.declared != "header" and not plan.misdeclared:
        lines.append(CHARSET_METAS[number(profile.name.host) % 2].format(charset=profile.charset.removesuffix("-sig")))
    if plan.base:
        lines.append(f'<base href="{html.escape(plan.base)}">')
    lines.append(f"<title>{sheet.line(sheet.planted('title'))}</title>")
    decoys = [UNSEEN[decoy.form](decoy.phrase, sheet.throw) for decoy in plan.decoys if decoy.place == "head"]
    lines += decoys[:1] or [f'<meta name="description" content="{sheet.throw.choice(sheet.prose.sentences)}">']
    if plan.meta_robots:
        lines.append(f'<meta name="robots" content="{plan.meta_robots}">')
    if plan.refresh:
        lines.append(f'<meta http-equiv="refresh" content="{html.escape(plan.refresh)}">')
    if plan.canonical:
        lines.append(f'<link rel="canonical" href="{html.escape(plan.canonical)}">')
    lines += [STYLE, SCRIPT, JSON_LD]
    return "\n".join(lines) + "\n"


def _full(sheet: Sheet) -> str:
    labels, plan = sheet.labels, sheet.plan
    nav = "".join(f"<li>{_a(anchor, sheet.label(anchor))}</li>\n" for anchor in sheet.anchors("nav"))
    crumbs = "".join(f"<li>{_a(anchor, labels.home)}</li>" for anchor in sheet.anchors("crumb"))
    article = "\n".join(_blocks(sheet))
    layers = plan.nesting
    brand, menu = sheet.planted("brand"), sheet.planted("menu")
    named = sheet.line(brand) if brand else sheet.prose.clauses[number(sheet.profile.name.host) % 100]
    start, end = ("<header>", "</header>") if sheet.profile.kind in _HEADED else ("", "")
    return (
        f'<header><div class="brand">{named}</div>\n'
        f"<nav><ul>\n{nav}</ul></nav></header>\n"
        f'<ol class="crumbs">{crumbs}<li>{sheet.clause()}</li></ol>\n'
        f"<main><article>\n{start}<h1>{sheet.line(sheet.planted('h1'))}</h1>\n"
        f'<p class="byline">{labels.written} {sheet.clause()}</p>{end}\n'
        f"{'<div>' * layers}{article}{'</div>' * layers}\n</article>\n{_lists(sheet)}</main>\n"
        f"{sidebar(labels, sheet.prose, sheet.throw, sheet.line(menu) if menu else '')}"
        f"<footer><p>{sheet.line(sheet.planted('foot'))}</p><p>{labels.contact} {labels.legal}</p></footer>\n{SCRIPT}\n"
    )


def _leaf(sheet: Sheet) -> str:
    return f"<h1>{sheet.line(sheet.planted('h1'))}</h1>\n" + "\n".join(_blocks(sheet)) + f"\n{_lists(sheet)}"


def _blocks(sheet: Sheet) -> list[str]:
    """The article: paragraphs, and between them whatever the plan wants said or hidden."""
    throw, plan, prose = sheet.throw, sheet.plan, sheet.prose
    blocks = [f"<p>{paragraph}</p>" for paragraph in throw.choices(prose.paragraphs, k=plan.paragraphs)]
    special = [_spoken(sheet, plant) for plant in sheet.planted(*_SETTINGS, "loose")]
    special += [_unspoken(sheet, decoy) for decoy in plan.decoys if decoy.place == "body"]
    special += [f"<p>{_linking(sheet, anchor)}</p>" for anchor in sheet.anchors("text")]
    special += [f"<h2>{sheet.clause()}</h2>" for _ in range(plan.paragraphs // 6)]
    if plan.names_client:
        special.append(f"<p>{sheet.clause()} {CLIENT} {sheet.clause()}</p>")
    special.append(extra_block(plan.look, sheet.labels, prose, throw))
    for block in special:
        blocks.insert(throw.randint(0, len(blocks)), block)
    return blocks


_SETTINGS = {
    "h2": "<h2>{line}</h2>",
    "h4": "<h4>{line}</h4>",
    "p": "<p>{line}</p>",
    "li": "<ul>\n<li>{first}\n<li>{line}\n<li>{last}\n</ul>",
    "td": "<table><tr><th>{first}</th><td>{line}</td><td>{last}</td></tr></table>",
    "dd": "<dl><dt>{first}</dt><dd>{line}</dd></dl>",
    "caption": '<figure><img src="/static/plain.png" alt=""><figcaption>{line}</figcaption></figure>',
    "quote": "<blockquote><p>{line}</p></blockquote>",
    # Nothing stands between the links, and no gap is written into them.
    "links": '<p><a href="#one">{first}</a><a href="#two">{shown}</a><a href="#three">{last}</a></p>',
}
# What lists hold besides their items, or around them.
_LOOSE = (
    "<ul>\n{line}\n<li>{first}</li></ul>",
    '<ol><li>{first}</li><a href="#part">{line}</a></ol>',
    "<menu><div>{line}</div>{last}</menu>",
    "<ul><section><p>{line}</p></section><li>{last}</ul>",
    "<ul><form><li>{first}</li><li>{line}</li></form></ul>",
    "<ol><my-item><li>{line}</li></my-item></ol>",
    "<ul><table><tr><td>{first}</td><td>{line}</td></tr></table></ul>",
    "<ol><ul><li>{first}</li><li>{line}</li></ul></ol>",
)


def _spoken(sheet: Sheet, plant: Plant) -> str:
    setting = sheet.throw.choice(_LOOSE) if plant.place == "loose" else _SETTINGS[plant.place]
    written = {"shown": sheet.shown(plant)} if "{shown}" in setting else {"line": sheet.line((plant,))}
    return setting.format(first=sheet.clause(), last=sheet.clause(), **written)


def _unspoken(sheet: Sheet, decoy: Plant) -> str:
    written = UNSEEN[decoy.form](decoy.phrase, sheet.throw)
    while "\3" in written:
        written = written.replace("\3", sheet.clause(), 1)
    return written


def _linking(sheet: Sheet, anchor: Anchor) -> str:
    return f"{sheet.clause()} {_a(anchor, sheet.label(anchor))} {sheet.clause()}"


def _lists(sheet: Sheet) -> str:
    listed, areas = sheet.anchors("list"), sheet.anchors("map")
    parts = []
    if listed:
        teasers = len(listed) <= _LIST_IN_FULL
        items = "".join(
            f"<li>{_a(anchor, sheet.clause())}{_teaser(sheet) if teasers else ''}</li>\n" for anchor in listed
        )
        parts.append(f"<section><h2>{sheet.labels.related}</h2><ul>\n{items}</ul></section>\n")
    if areas:
        drawn = "".join(
            f'<area shape="rect" coords="0,0,9,9" href="{html.escape(area.href)}" alt="">' for area in areas
        )
        parts.append(f'<img src="/static/plain.png" usemap="#plan" alt=""><map name="plan">{drawn}</map>\n')
    return "".join(parts)


def _teaser(sheet: Sheet) -> str:
    return f"<p>{sheet.throw.choice(sheet.prose.sentences)}</p>"


def _a(anchor: Anchor, text: str) -> str:
    rel = f' rel="{anchor.rel}"' if anchor.rel else ""
    return f'<a href="{html.escape(anchor.href)}"{rel}>{text}</a>'
