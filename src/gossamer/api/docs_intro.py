"""Start of the API documentation page: first steps with curl, a field for a key, and the script that tries it.

This is the only script on any page of the server. The content security policy of this page allows it
by its digest. It sends requests to this server only and does not store the key: closing the page
discards it.
"""

from base64 import b64encode
from hashlib import sha256

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
"""As on all other answers, but for this one script, which may ask this server."""

_STEPS = (
    (
        "Scrape a page",
        "The answer has it as Markdown, with what is known of it.",
        """curl -s {url}/v1/scrape -H "Authorization: Bearer $KEY" \\
  -H "Content-Type: application/json" -d '{{"url": "https://example.com/"}}'""",
    ),
    (
        "Take fields out of it",
        "By CSS selector or XPath.",
        """curl -s {url}/v1/scrape -H "Authorization: Bearer $KEY" \\
  -H "Content-Type: application/json" \\
  -d '{{"url": "https://example.com/", "extract": {{"title": "h1", "links": {{"css": "a", "list": true}}}}}}'""",
    ),
    (
        "Many pages, as a job",
        "The answer is a job at once, with links to how it stands and to what came of each address.",
        """curl -s {url}/v1/batch -H "Authorization: Bearer $KEY" \\
  -H "Content-Type: application/json" -d '{{"urls": ["https://example.com/", "https://example.org/"]}}'""",
    ),
    ("Look at a job", "", """curl -s {url}/v1/jobs/ID -H "Authorization: Bearer $KEY\""""),
    ("Whether the server is well", "Needs no key.", "curl -s {url}/api/health"),
)

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


def introduction(url: str) -> str:
    """First steps against the server at this address, which is safe to be shown."""
    steps = "".join(
        f"<h3>{title}</h3>{f'<p>{text}</p>' if text else ''}<pre>{_shown(command.format(url=url))}</pre>"
        for title, text, command in _STEPS
    )
    return (
        "<h2>First steps</h2><p>Every request but <code>/api/health</code> needs a key, as "
        "<code>Authorization: Bearer KEY</code>. The first start of the server shows one, and "
        "<code>gossamer system keys create NAME</code> makes more.</p>"
        f'<div id="box"><label>Your key: <input id="key" type="password" autocomplete="off" '
        'placeholder="gsk_..."></label> <button id="check" type="button">Check it</button>'
        '<p id="said" role="status">It is used for "Try it" below, and is forgotten when this page is left.</p></div>'
        f"<pre>KEY=gsk_...</pre>{steps}"
    )


def _shown(command: str) -> str:
    return command.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
