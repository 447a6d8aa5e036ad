"""The parts of a page that are the same on every site: scripts, styles, structured data, forms, sidebars."""

from collections.abc import Callable, Mapping
from random import Random

from gossamer_sandbox.web.prose import Prose
from gossamer_sandbox.web.vocabulary import Labels

CHARSET_METAS = (
    '<meta charset="{charset}">',
    '<meta http-equiv="Content-Type" content="text/html; charset={charset}">',
)

STYLE = """<link rel="stylesheet" href="/static/site.css">
<link rel="icon" href="/favicon.ico">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body { font: 16px/1.5 Georgia, serif; margin: 0 auto; max-width: 70rem }
nav ul { display: flex; gap: 1rem; list-style: none }
.crumbs li { display: inline } .teasers li { border-top: 1px solid #ddd }
@media (max-width: 40rem) { aside { float: none } main { padding: 0 1rem } }
</style>"""

SCRIPT = """<script>
(function (w, d) {
  w.layer = w.layer || [];
  function push() { w.layer.push(arguments); }
  push("set", { page: d.title, at: +new Date() });
  d.addEventListener("click", function (e) { if (e.target.tagName === "A") push("click", e.target.href); });
  for (var i = 0; i < 3 && d.links.length > i; i++) { push("seen", "<a href='/made/by/script'>" + i + "</a>"); }
})(window, document);
</script>"""

JSON_LD = """<script type="application/ld+json">
{"@context": "https://schema.org", "@type": "WebPage", "isPartOf": {"@type": "WebSite", "url": "/"},
 "publisher": {"@type": "Organization", "name": "Harbour Lantern", "logo": "/static/plain.png"}}
</script>"""


def sidebar(labels: Labels, prose: Prose, throw: Random, menu: str = "") -> str:
    """Return forms and cards for the side of the text, and a menu if `menu` gives it a heading."""
    first, second, third = throw.choices(prose.sentences, k=3)
    headed = f"<nav><h3>{menu}</h3><ul><li>{throw.choice(prose.clauses)}</li></ul></nav>\n" if menu else ""
    return (
        f"<aside>\n{headed}"
        f'<form action="/find" method="get"><label>{labels.search} <input type="search" name="q"></label>'
        f'<button>{labels.search}</button></form>\n<div class="card"><h3>{labels.letter}</h3><p>{first}</p>'
        f'<form action="/letter" method="post"><input type="hidden" name="token" value="{throw.getrandbits(48):012x}">'
        f'<input type="text" name="address"><button>OK</button></form></div>\n'
        f'<div class="card"><h3>{labels.share}</h3><p>{second}</p><img src="/static/plain.png" alt="{third}"></div>\n'
        '<iframe src="/embedded/frame" title="frame"></iframe>\n</aside>\n'
    )


def _product(labels: Labels, prose: Prose, throw: Random) -> str:
    rows = "".join(
        f"<tr><th>{name}</th><td>{throw.randint(1, 500)}</td></tr>\n" for name in throw.choices(prose.clauses, k=5)
    )
    options = "".join(f'<option value="{at}">{at}</option>' for at in range(1, 5))
    return (
        f'<table class="facts">\n{rows}</table>\n<p class="price">{labels.price}: {throw.randint(3, 900)}.90</p>\n'
        f'<form action="/basket" method="post"><select name="count">{options}</select><button>OK</button></form>'
    )


def _entry(labels: Labels, prose: Prose, throw: Random) -> str:
    return (
        f"<address>{throw.choice(prose.clauses)} {throw.randint(1, 80)}<br>{throw.randint(10000, 99999)} "
        f"{throw.choice(prose.clauses)}</address>\n<p>{labels.contact}: +49 30 {throw.randint(100000, 999999)}</p>"
    )


def _manual(_: Labels, prose: Prose, throw: Random) -> str:
    return (
        f"<pre><code>value = {throw.randint(1, 9)}\nshow(value)\n</code></pre>\n<p>{throw.choice(prose.sentences)}</p>"
    )


def _article(_: Labels, prose: Prose, throw: Random) -> str:
    items = "".join(f"<li>{clause}</li>\n" for clause in throw.choices(prose.clauses, k=4))
    return (
        f'<figure><img src="/static/plain.png" alt="{throw.choice(prose.clauses)}" loading="lazy">'
        f"<figcaption>{throw.choice(prose.sentences)}</figcaption></figure>\n<ol>\n{items}</ol>"
    )


_EXTRA: Mapping[str, Callable[[Labels, Prose, Random], str]] = {
    "product": _product,
    "entry": _entry,
    "manual": _manual,
    "leaf": lambda labels, prose, throw: f"<p>{throw.choice(prose.sentences)}</p>",
}


def extra_block(look: str, labels: Labels, prose: Prose, throw: Random) -> str:
    """Return the block that only pages of this look have."""
    return _EXTRA.get(look, _article)(labels, prose, throw)
