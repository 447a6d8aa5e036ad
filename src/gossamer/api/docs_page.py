"""The description of the interface as one page: no script, nothing from elsewhere, readable offline."""

from collections.abc import Iterator, Mapping
from html import escape
from itertools import groupby
from typing import Any, TypeAlias

import orjson

_Rows: TypeAlias = list[tuple[str, ...]]

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


def docs_page(spec: Mapping[str, Any]) -> str:
    found = [
        (operation["tags"][0] if operation.get("tags") else "more", path, verb, operation)
        for path, verbs in spec["paths"].items()
        for verb, operation in verbs.items()
    ]
    found.sort(key=lambda one: one[0])
    parts = "".join(
        f"<h2>{escape(tag.capitalize())}</h2>"
        + "".join(_operation(path, verb, operation, spec) for _, path, verb, operation in group)
        for tag, group in groupby(found, key=lambda one: one[0])
    )
    title, text = escape(spec["info"]["title"]), escape(spec["info"].get("description", ""))
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style><h1>{title}</h1>'
        f'<p>{text}</p><p>For programs: <a href="/openapi.json">openapi.json</a></p>{parts}'
    )


def _operation(path: str, verb: str, operation: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    summary = escape(operation.get("summary", ""))
    text = "".join(f"<p>{escape(part)}</p>" for part in operation.get("description", "").split("\n\n") if part)
    return (
        f'<details id="{escape(operation["operationId"])}"><summary><b class="m">{verb.upper()}</b> '
        f"<code>{escape(path)}</code> {summary}</summary>{text}"
        f"{_parameters(operation)}{_body(operation, spec)}{_answers(operation, spec)}</details>"
    )


def _parameters(operation: Mapping[str, Any]) -> str:
    rows: _Rows = [
        (one["name"], one["in"], "yes" if one.get("required") else "", one.get("description", ""))
        for one in operation.get("parameters", ())
    ]
    return _table(("Parameter", "In", "Needed", ""), rows) if rows else ""


def _body(operation: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if not content:
        return ""
    schema = _resolved(content["schema"], spec)
    example = _shown(schema["example"]) if "example" in schema else ""
    return f"<p>Body</p>{_fields(schema, spec)}{example}"


def _answers(operation: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    rows: _Rows = [(status, answer["description"]) for status, answer in sorted(operation["responses"].items())]
    good = [answer for status, answer in operation["responses"].items() if status.startswith("2")]
    content = good[0].get("content", {}).get("application/json", {}) if good else {}
    schema = _resolved(content.get("schema", {}), spec)
    example = content.get("example", schema.get("example"))
    shown = "" if example is None else _shown(example)
    return f"<p>Answers</p>{_table(('Status', ''), rows)}{_fields(schema, spec)}{shown}"


def _fields(schema: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    needed = schema.get("required", ())
    rows: _Rows = [
        (name, _kind(field, spec), "yes" if name in needed else "", field.get("description", ""))
        for name, field in schema.get("properties", {}).items()
    ]
    return _table(("Field", "Kind", "Needed", ""), rows) if rows else ""


def _kind(field: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    return " or ".join(dict.fromkeys(_kinds(field, spec))) or "any"


def _kinds(field: Mapping[str, Any], spec: Mapping[str, Any]) -> Iterator[str]:
    for one in field.get("anyOf") or field.get("allOf") or (field,):
        if "$ref" in one:
            target = _resolved(one, spec)
            yield (
                "one of " + ", ".join(map(str, target["enum"])) if "enum" in target else one["$ref"].rpartition("/")[2]
            )
        elif one.get("type") == "array":
            yield f"list of {_kind(one.get('items', {}), spec)}"
        elif "type" in one:
            yield str(one["type"])


def _resolved(schema: Mapping[str, Any], spec: Mapping[str, Any]) -> Mapping[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    return spec["components"]["schemas"][name] if name else schema


def _shown(value: Any) -> str:
    return f"<pre>{escape(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())}</pre>"


def _table(titles: tuple[str, ...], rows: _Rows) -> str:
    head = "".join(f"<th>{title}</th>" for title in titles)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"
