"""The description of the interface as one page: nothing from elsewhere, readable offline and without its script."""

from collections.abc import Iterator, Mapping
from html import escape
from itertools import groupby
from typing import Any, TypeAlias

import orjson

from gossamer.api.docs_intro import INTRO_STYLE, SCRIPT, introduction

_Rows: TypeAlias = list[tuple[str, ...]]  # of HTML
_REF = "#/components/schemas/"
# What people come for first, and what programs of others want last. Tags that are not here stand between.
_FIRST = ("scrape", "jobs", "results", "live", "webhooks", "account", "login", "server")
_LAST = ("sitemap jobs", "scrapersky", "command line", "as ScrapingBee", "as Firecrawl")
_TITLES = {"as ScrapingBee": "Dialect: as ScrapingBee", "as Firecrawl": "Dialect: as Firecrawl"}
_PROBLEM = "Problem"  # what every error is

_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24}
h1,h2{line-height:1.2}h2{margin-top:2.5rem;border-bottom:1px solid #d8dee4;padding-bottom:.3rem}
details{border:1px solid #d8dee4;border-radius:6px;margin:.5rem 0;padding:.5rem .8rem}
summary{cursor:pointer}code,pre{font:14px/1.45 ui-monospace,monospace;background:#f3f5f7;border-radius:4px}
code{padding:.1rem .3rem}pre{padding:.7rem;overflow:auto}b.m{display:inline-block;min-width:4.5rem}
table{border-collapse:collapse;width:100%}
td,th{text-align:left;border-top:1px solid #e6eaee;padding:.25rem .6rem .25rem 0;
vertical-align:top}@media(prefers-color-scheme:dark){body{background:#12161b;color:#dfe5ec}code,pre{background:#1c232b}
details,h2,td,th{border-color:#303a45}a{color:#8ab8ff}}
"""


def docs_page(spec: Mapping[str, Any], url: str = "") -> str:
    """`url` is the address of this server, for its examples."""
    found = [
        (operation["tags"][0] if operation.get("tags") else "more", path, verb, operation)
        for path, verbs in spec["paths"].items()
        for verb, operation in verbs.items()
    ]
    found.sort(key=lambda one: _order(one[0]))
    tags = dict.fromkeys(tag for tag, *_ in found)
    contents = "".join(f'<a href="#{_tag_place(tag)}">{escape(_title(tag))}</a>' for tag in tags)
    parts = "".join(
        f'<h2 id="{_tag_place(tag)}">{escape(_title(tag))}</h2>'
        + "".join(_operation(path, verb, operation, spec) for _, path, verb, operation in group)
        for tag, group in groupby(found, key=lambda one: one[0])
    )
    title, text = escape(spec["info"]["title"]), escape(spec["info"].get("description", ""))
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}{INTRO_STYLE}</style><h1>{title}</h1>'
        f'<p>{text}</p><p>For programs: <a href="/openapi.json">openapi.json</a></p>{introduction(escape(url))}'
        f'<nav>{contents}<a href="#shapes">Shapes</a></nav>{parts}'
        f'<h2 id="shapes">Shapes</h2>{"".join(_shape(name, spec) for name in _shapes(spec))}<script>{SCRIPT}</script>'
    )


def _order(tag: str) -> tuple[int, str]:
    if tag in _FIRST:
        return _FIRST.index(tag), tag
    return (len(_FIRST) + 1 + _LAST.index(tag), tag) if tag in _LAST else (len(_FIRST), tag)


def _title(tag: str) -> str:
    return _TITLES.get(tag, tag.capitalize())


def _tag_place(tag: str) -> str:
    return escape(f"tag-{tag.replace(' ', '-')}")


def _shapes(spec: Mapping[str, Any]) -> list[str]:
    """Return the names of the schemas that bodies and answers use, at any depth.

    Enums are described where they are used.
    """
    waiting = [_PROBLEM, *_named(spec["paths"])]
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in found and name in spec["components"]["schemas"]:
            found.add(name)
            waiting += _named(spec["components"]["schemas"][name])
    return sorted(name for name in found if "enum" not in spec["components"]["schemas"][name])


def _named(part: Any) -> Iterator[str]:
    """The shapes that some part of the description refers to."""
    if isinstance(part, Mapping):
        reference = part.get("$ref")
        if isinstance(reference, str) and reference.startswith(_REF):
            yield reference.removeprefix(_REF)
        for one in part.values():
            yield from _named(one)
    elif isinstance(part, list):
        for one in part:
            yield from _named(one)


def _shape(name: str, spec: Mapping[str, Any]) -> str:
    schema = spec["components"]["schemas"][name]
    text = escape(schema.get("description", ""))
    return f'<h3 id="{_place(name)}">{escape(name)}</h3><p>{text}</p>{_fields(schema, spec)}'


def _place(name: str) -> str:
    return escape(f"shape-{name}")


def _operation(path: str, verb: str, operation: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    summary = escape(operation.get("summary", ""))
    text = "".join(f"<p>{escape(part)}</p>" for part in operation.get("description", "").split("\n\n") if part)
    return (
        f'<details id="{escape(operation["operationId"])}"><summary><b class="m">{verb.upper()}</b> '
        f"<code>{escape(path)}</code> {summary}</summary>{text}"
        f"{_parameters(operation)}{_body(operation, spec)}{_answers(operation, spec)}"
        f"{_trial(path, verb, operation, spec)}</details>"
    )


def _trial(path: str, verb: str, operation: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    """A form that sends the request; streams, which do not end, have none."""
    if path.endswith(("/live", "/stream")):
        return ""
    fields = "".join(
        f'<label>{escape(one["name"])} <input name="{escape(one["name"])}" data-in="{one["in"]}"></label>'
        for one in operation.get("parameters", ())
        if one["in"] in ("path", "query")
    )
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content:
        example = content.get("example", _resolved(content["schema"], spec).get("example", {}))
        written = escape(orjson.dumps(example, option=orjson.OPT_INDENT_2).decode())
        fields += f'<label>Body<textarea spellcheck="false">{written}</textarea></label>'
    return (
        f'<form class="try" data-verb="{verb.upper()}" data-path="{escape(path)}">{fields}'
        "<button>Try it</button><pre hidden></pre></form>"
    )


def _parameters(operation: Mapping[str, Any]) -> str:
    rows: _Rows = [
        (escape(one["name"]), one["in"], "yes" if one.get("required") else "", escape(one.get("description", "")))
        for one in operation.get("parameters", ())
    ]
    return _table(("Parameter", "In", "Needed", ""), rows) if rows else ""


def _body(operation: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if not content:
        return ""
    schema = _resolved(content["schema"], spec)
    example = content.get("example", schema.get("example"))
    shown = "" if example is None else _shown(example)
    needed = "" if operation["requestBody"].get("required") else ", which may be left out"
    return f"<p>Body{needed}</p>{_fields(schema, spec)}{shown}"


def _answers(operation: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    rows: _Rows = [(status, escape(answer["description"])) for status, answer in sorted(operation["responses"].items())]
    good = [answer for status, answer in operation["responses"].items() if status.startswith("2")]
    content = good[0].get("content", {}).get("application/json", {}) if good else {}
    schema = _resolved(content.get("schema", {}), spec)
    example = content.get("example", schema.get("example"))
    shown = "" if example is None else _shown(example)
    return f"<p>Answers</p>{_table(('Status', ''), rows)}{_fields(schema, spec)}{shown}"


def _fields(schema: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    needed = schema.get("required", ())
    rows: _Rows = [
        (escape(name), _kind(field, spec), "yes" if name in needed else "", escape(field.get("description", "")))
        for name, field in schema.get("properties", {}).items()
    ]
    return _table(("Field", "Kind", "Needed", ""), rows) if rows else ""


def _kind(field: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    return " or ".join(dict.fromkeys(_kinds(field, spec))) or "any"


def _kinds(field: Mapping[str, Any], spec: Mapping[str, Any]) -> Iterator[str]:
    for one in field.get("anyOf") or field.get("allOf") or (field,):
        if "$ref" in one:
            target, name = _resolved(one, spec), one["$ref"].removeprefix(_REF)
            link = f'<a href="#{_place(name)}">{escape(name)}</a>'
            yield "one of " + escape(", ".join(map(str, target["enum"]))) if "enum" in target else link
        elif one.get("type") == "array":
            yield f"list of {_kind(one.get('items', {}), spec)}"
        elif "type" in one:
            yield escape(str(one["type"]))


def _resolved(schema: Mapping[str, Any], spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """The shape itself, also of what may be left out."""
    given = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    name = (given[0] if len(given) == 1 else schema).get("$ref", "").rpartition("/")[2]
    return spec["components"]["schemas"][name] if name else schema


def _shown(value: Any) -> str:
    return f"<pre>{escape(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())}</pre>"


def _table(titles: tuple[str, ...], rows: _Rows) -> str:
    head = "".join(f"<th>{title}</th>" for title in titles)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"
