"""Ways to write a phrase into a page, visible to a visitor or hidden."""

import html
import json
from collections.abc import Callable, Mapping
from html.entities import codepoint2name
from random import Random

from gossamer_sandbox.web.keywords import LOOKALIKES, PHRASES
from gossamer_sandbox.web.page import Plant

Form = Callable[[str, Random], str]


def text(phrase: str) -> str:
    return html.escape(phrase, quote=False)


def _broken(phrase: str, throw: Random, middle: str, after: str = "") -> str:
    """The phrase with something put inside its longest word."""
    words = phrase.split(" ")
    longest = max(range(len(words)), key=lambda at: len(words[at]))
    word = words[longest]
    cut = throw.randrange(1, len(word))
    end = throw.randrange(cut + 1, len(word) + 1) if after else len(word)
    words[longest] = f"\0{word[:cut]}\1{word[cut:end]}\2{word[end:]}"
    return text(" ".join(words)).replace("\0", "").replace("\1", middle).replace("\2", after)


def _tagged(phrase: str, throw: Random) -> str:
    tag = throw.choice(("b", "i", "em", "strong", "span", "mark", "u", "font", "code"))
    return _broken(phrase, throw, f"<{tag}>", f"</{tag}>")


def _word_by_word(phrase: str, throw: Random) -> str:
    tags = throw.choices(("em", "strong", "span", "small", "abbr", "b"), k=phrase.count(" ") + 1)
    return " ".join(f"<{tag}>{text(word)}</{tag}>" for tag, word in zip(tags, phrase.split(" "), strict=True))


def _mixed_case(phrase: str, throw: Random) -> str:
    return text("".join(letter.upper() if throw.random() < 0.5 else letter.lower() for letter in phrase))


def _entities(phrase: str, throw: Random) -> str:
    sure = throw.choice([at for at, letter in enumerate(phrase) if letter != " "])
    return "".join(
        _entity(letter, throw) if letter != " " and (at == sure or throw.random() < 0.4) else text(letter)
        for at, letter in enumerate(phrase)
    )


def _entity(letter: str, throw: Random) -> str:
    point = ord(letter)
    name = codepoint2name.get(point)
    match throw.randrange(3):
        case 0 if name:
            return f"&{name};"
        case 1:
            return f"&#x{point:X};"
        case _:
            return f"&#{point};"


def _spaced_by(*spaces: str) -> Form:
    def form(phrase: str, throw: Random) -> str:
        first, *others = text(phrase).split(" ")
        return first + "".join(throw.choice(spaces) + word for word in others)

    return form


_ANYWHERE: Mapping[str, Form] = {
    "plain": lambda phrase, _: text(phrase),
    "upper": lambda phrase, _: text(phrase.upper()),
    "lower": lambda phrase, _: text(phrase.lower()),
    "mixed-case": _mixed_case,
    "entities": _entities,
    "soft-hyphen": lambda phrase, throw: _broken(phrase, throw, throw.choice(("&shy;", "&#173;", "&#xAD;"))),
    "zero-width": lambda phrase, throw: _broken(
        phrase, throw, throw.choice(("&#8203;", "&zwnj;", "&#x2060;", "&#xFEFF;"))
    ),
    "raw-soft-hyphen": lambda phrase, throw: _broken(phrase, throw, "\u00ad"),
    "raw-zero-width": lambda phrase, throw: _broken(phrase, throw, throw.choice("\u200b\u200d\u2060")),
}
_PHRASES_ANYWHERE: Mapping[str, Form] = {
    "no-break": _spaced_by("&nbsp;", "&#160;", "&#xa0;"),
    "raw-no-break": _spaced_by("\u00a0"),
}
_IN_BODY: Mapping[str, Form] = {
    "tagged": _tagged,
    "word-by-word": _word_by_word,
    "break-chance": lambda phrase, throw: _broken(phrase, throw, "<wbr>"),
    "comment-inside": lambda phrase, throw: _broken(phrase, throw, "<!-- cut here -->"),
    "in-brackets": lambda phrase, _: f"({text(phrase)})",
}
_PHRASES_IN_BODY: Mapping[str, Form] = {
    "lines": _spaced_by("\n", "\r\n      ", "\n\t\t"),
    "wide-spaces": _spaced_by("&emsp;", "&#8195;&#8195;", "\t", "   ", "&thinsp;"),
}

SHOWN: Mapping[str, Form] = {**_ANYWHERE, **_PHRASES_ANYWHERE, **_IN_BODY, **_PHRASES_IN_BODY}
"""Every form in which a phrase counts."""

PLACES = ("title", "h1", "h2", "h4", "p", "p", "p", "li", "td", "dd", "caption", "quote", "loose", "links")


def _combinations() -> tuple[Plant, ...]:
    found = []
    for phrase in PHRASES:
        for form in SHOWN:
            if " " not in phrase and form in {*_PHRASES_ANYWHERE, *_PHRASES_IN_BODY}:
                continue
            tags = form in {*_IN_BODY, *_PHRASES_IN_BODY}
            found += [Plant(phrase, form, place) for place in PLACES if not (tags and place == "title")]
    return tuple(found)


PLANTS: tuple[Plant, ...] = _combinations()
"""Everything countable that a page may draw; shared, because there are hundreds of thousands of pages."""

ASCII_PLANTS: tuple[Plant, ...] = tuple(
    plant for plant in PLANTS if plant.phrase.isascii() and not plant.form.startswith("raw-")
)
"""What survives a wrong charset."""


def _cut(phrase: str, throw: Random) -> str:
    at = throw.randrange(1, len(phrase))
    first, second = text(phrase[:at]), text(phrase[at:])
    match throw.randrange(4):
        case 0:
            return f"<div>{first}</div><div>{second}</div>"
        case 1:
            return f"<ul><li>{first}</li><li>{second}</li></ul>"
        case 2:
            return f"<table><tr><td>{first}</td><td>{second}</td></tr></table>"
        case _:
            return f"<p>{first}</p><h3>{second}</h3>"


def _unseen(phrase: str, throw: Random) -> str:
    attribute = throw.choice(
        (
            "hidden",
            'hidden=""',
            'style="display:none"',
            "style='DISPLAY : none ;'",
            'style="color:red; display:none !important"',
            'style="visibility:hidden"',
            'style="margin:0;visibility: hidden;"',
        )
    )
    tag = throw.choice(("div", "p", "section", "ul"))
    inner = f"<li>{text(phrase)}</li>" if tag == "ul" else f"<b>{text(phrase)}</b>"
    return f"<{tag} {attribute}>{inner}</{tag}>"


def _attribute(phrase: str) -> str:
    return html.escape(phrase, quote=True)


def _quoted(phrase: str) -> str:
    return json.dumps(phrase, ensure_ascii=False)


UNSEEN: Mapping[str, Form] = {
    "script": lambda phrase, _: f"<script>var topic = {_quoted(phrase)};</script>",
    "json-ld": lambda phrase, _: (
        f'<script type="application/ld+json">{{"@type":"Article","keywords":{_quoted(phrase)}}}</script>'
    ),
    "style": lambda phrase, _: f'<style>.tag::after {{ content: "{phrase}"; }}</style>',
    "template": lambda phrase, _: f"<template><p>{text(phrase)}</p></template>",
    "noscript": lambda phrase, _: f"<noscript><p>{text(phrase)}</p></noscript>",
    "comment": lambda phrase, _: f'<!-- {text(phrase)} <a href="/retired/draft">old</a> -->',
    "hidden": _unseen,
    "hidden-inside": lambda phrase, _: f'<p>\3 <span style="display: none">{text(phrase)}</span> \3</p>',
    "alt": lambda phrase, _: f'<p>\3 <img src="/static/plain.png" alt="{_attribute(phrase)}" width="40"> \3</p>',
    "title-attribute": lambda phrase, _: f'<p>\3 <span title="{_attribute(phrase)}">\3</span></p>',
    "data-attribute": lambda phrase, _: f'<div data-topic="{_attribute(phrase)}"><p>\3</p></div>',
    "placeholder": lambda phrase, _: f'<form action="/find"><input name="q" placeholder="{_attribute(phrase)}"></form>',
    "description": lambda phrase, _: f'<meta name="description" content="{_attribute(phrase)}">',
    "lookalike": lambda phrase, throw: f"<p>\3 {text(throw.choice(LOOKALIKES[phrase]))} \3</p>",
    "cut": _cut,
}
"""Every form in which a phrase does not count. A `\\3` stands for a few words of filler."""

DECOYS: tuple[Plant, ...] = tuple(
    Plant(phrase, form, "head" if form == "description" else "body")
    for phrase in PHRASES
    for form in UNSEEN
    if not (form == "cut" and " " in phrase) and not (form == "lookalike" and not LOOKALIKES[phrase])
)
