"""The API documentation as one page, readable offline and without its script.

Its script is the only one on any page of the server; the content security policy allows it by its digest. It sends
requests to this server only and does not store the key: closing the page discards it.
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from hashlib import sha256
from html import escape
from itertools import groupby
from typing import Any, TypeAlias

import orjson

_Rows: TypeAlias = list[tuple[str, ...]]  # of HTML
_REF = "#/components/schemas/"
# Tags shown first and last; the others are in between.
_FIRST = ("scrape", "jobs", "results", "live", "webhooks", "account", "login", "server")
_LAST = ("sitemap jobs", "scrapersky", "command line", "as ScrapingBee", "as Firecrawl")
_TITLES = {"as ScrapingBee": "Dialect: as ScrapingBee", "as Firecrawl": "Dialect: as Firecrawl"}
_PROBLEM = "Problem"  # the schema of every error

KEYLESS = "/, /docs, /openapi.json, /api/health, /api/ready, /v1/auth/login, /v1/auth/refresh and signed links of files"

SCRIPT = """
"use strict";
const key = document.getElementById("key"), said = document.getElementById("said");
const headers = () => key.value.trim() ? {Authorization: "Bearer " + key.value.trim()} : {};
const told = async (answer) => {
  const text = await answer.text();
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text.slice(0, 20000); }
};
document.getElementById("check").addEventListener("click", async () => {
  said.textContent = "Asking...";
  try {
    const answer = await fetch("/v1/account", {headers: headers()});
    const body = await answer.json();
    said.textContent = answer.ok ? "This key works, for the account " + body.id + "."
      : "It does not work: " + body.detail + " " + (body.hint || "");
  } catch (error) { said.textContent = "The server does not answer: " + error.message; }
});
for (const form of document.querySelectorAll("form.try")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const shown = form.querySelector("pre"), fields = [...form.querySelectorAll("input")];
    let path = form.dataset.path;
    const query = new URLSearchParams();
    for (const one of fields) {
      if (one.dataset.in === "path") path = path.replace("{" + one.name + "}", encodeURIComponent(one.value));
      else if (one.value) query.append(one.name, one.value);
    }
    const body = form.querySelector("textarea"), wanted = {method: form.dataset.verb, headers: headers()};
    if (body && body.value.trim()) {
      wanted.body = body.value;
      wanted.headers["Content-Type"] = "application/json";
    }
    shown.hidden = false;
    shown.textContent = "Asking...";
    try {
      const began = performance.now();
      const answer = await fetch(path + (query.size ? "?" + query : ""), wanted);
      const text = await told(answer), took = Math.round(performance.now() - began);
      shown.textContent = answer.status + " " + answer.statusText + ", " + took + " ms\\n\\n" + text;
    } catch (error) { shown.textContent = "The server does not answer: " + error.message; }
  });
}
"""

_DIGEST = b64encode(sha256(SCRIPT.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{_DIGEST}'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

_STEPS = (
    (
        "Scrape a page",
        "Returns the page as Markdown, with its metadata.",
        """curl -s {url}/v1/scrape -H "Authorization: Bearer $KEY" \\
  -H "Content-Type: application/json" -d '{{"url": "https://example.com/"}}'""",
    ),
    (
        "Extract fields",
        "By CSS selector or XPath.",
        """curl -s {url}/v1/scrape -H "Authorization: Bearer $KEY" \\
  -H "Content-Type: application/json" \\
  -d '{{"url": "https://example.com/", "extract": {{"title": "h1", "links": {{"css": "a", "list": true}}}}}}'""",
    ),
    (
        "Many pages, as a job",
        "Returns a job at once, with links to its status and to the result of each address.",
        """curl -s {url}/v1/batch -H "Authorization: Bearer $KEY" \\
  -H "Content-Type: application/json" -d '{{"urls": ["https://example.com/", "https://example.org/"]}}'""",
    ),
    ("Get a job", "", """curl -s {url}/v1/jobs/ID -H "Authorization: Bearer $KEY\""""),
    ("Check the server", "Needs no key.", "curl -s {url}/api/health"),
)

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

INTRO_STYLE = """
nav{margin:1rem 0}nav a{margin-right:.8rem}
#box{border:2px solid #3b6fd4;border-radius:8px;padding:.8rem 1rem;margin:1.5rem 0}
input,textarea,button{font:14px/1.45 ui-monospace,monospace;padding:.35rem .5rem;
border:1px solid #aab4bf;border-radius:4px}
#key{width:min(34rem,70%)}textarea{width:100%;min-height:7rem;box-sizing:border-box}
button{cursor:pointer;background:#2457bd;color:#fff;border-color:#2457bd}form.try{margin:.6rem 0}
form.try label{display:block;margin:.25rem 0}@media(prefers-color-scheme:dark){input,textarea{background:#1c232b;
color:inherit;border-color:#485361}}
"""


def docs_page(spec: Mapping[str, Any], url: str = "") -> str:
    """Return the documentation page. `url` is the address of this server, for its examples."""
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
        f'<nav>{contents}<a href="#shapes">Schemas</a></nav>{parts}'
        f'<h2 id="shapes">Schemas</h2>{"".join(_shape(name, spec) for name in _shapes(spec))}<script>{SCRIPT}</script>'
    )


def introduction(url: str) -> str:
    """Return the HTML of the first steps; `url` is this server's address, escaped."""
    steps = "".join(
        f"<h3>{title}</h3>{f'<p>{text}</p>' if text else ''}<pre>{_plain(command.format(url=url))}</pre>"
        for title, text, command in _STEPS
    )
    return (
        f"<h2>First steps</h2><p>Every request needs a key, as <code>Authorization: Bearer KEY</code>. Only {KEYLESS} "
        "need none. The first start of the server shows one, and "
        "<code>gossamer system keys create NAME</code> makes more.</p>"
        f'<div id="box"><label>Your key: <input id="key" type="password" autocomplete="off" '
        'placeholder="gsk_..."></label> <button id="check" type="button">Check it</button>'
        '<p id="said" role="status">It is used for "Try it" below, and is forgotten when this page is left.</p></div>'
        f"<pre>KEY=gsk_...</pre>{steps}"
    )


def _plain(command: str) -> str:
    return command.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


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
    """Yield the names of the schemas that a part of the description refers to."""
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
    """Return the schema itself, also if it is optional."""
    given = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    name = (given[0] if len(given) == 1 else schema).get("$ref", "").rpartition("/")[2]
    return spec["components"]["schemas"][name] if name else schema


def _shown(value: Any) -> str:
    return f"<pre>{escape(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())}</pre>"


def _table(titles: tuple[str, ...], rows: _Rows) -> str:
    head = "".join(f"<th>{title}</th>" for title in titles)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


"""The usual content security policy, plus this one script and its requests to this server."""
