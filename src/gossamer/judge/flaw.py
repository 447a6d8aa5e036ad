"""Second judgement, after reading: pages that arrived with a good status but are not what they seem.

Whoever has much to say is believed: all the pages looked for here are short, and an article about captchas, missing
pages or Cloudflare is not. That also keeps this nearly free for most pages.
"""

from gossamer.judge.blocks import (
    LONG_PREFIX,
    PREFIX,
    TINY_PAGE,
    is_tiny,
    marks_among,
    named_by_headers,
    named_by_place,
    named_by_title,
    names_parking,
    traces_in,
    without_styles,
)
from gossamer.judge.headings import headings, title_parts, words_of
from gossamer.judge.hollow import find_hollow
from gossamer.judge.login import find_login
from gossamer.judge.marks import (
    QUEUE_TITLES,
    SPEECHES,
    UNNAMED,
    UNNAMED_TITLES,
    UNNAMED_WHOLE_TITLES,
    WIDGETS,
    Mark,
    Verdict,
)
from gossamer.judge.parked import SHORT, find_parked
from gossamer.judge.placeholder import find_placeholder
from gossamer.judge.soft_404 import find_soft_404
from gossamer.model.document import Document
from gossamer.model.trouble import Trouble

# Characters of visible text. Real block pages stay under 1,500; error pages in a site's frame under 6,000.
_LONG = 6_000
_LONGEST_BLOCK = 3_000
_LONGEST_SPEECH = 1_500
_FEW_WORDS = 500
_NEXT_TO_NOTHING = 150
_HARDLY_A_LINK = 3
_FEW_LINKS = 10
_MANY_LINKS = 15
_NO_TRACES: frozenset[int] = frozenset()


def find_flaw(doc: Document) -> Trouble | None:
    """What is wrong with a page that was read; None for one to be harvested."""
    stopped = named_by_headers(doc.status, doc.headers) or named_by_place(doc.requested, doc.url)
    length = len(doc.text)
    # Who shows so many ways on does not stand in the way, but may be for sale.
    is_suspect = length <= SHORT or (length <= _LONGEST_BLOCK and len(doc.links) <= _MANY_LINKS)
    says_little = length < _FEW_WORDS
    markup = without_styles(doc.body) if says_little else doc.body
    traces = traces_in(markup, LONG_PREFIX if says_little else PREFIX) if is_suspect else _NO_TRACES
    if stopped is None and length <= _LONGEST_BLOCK:
        stopped = _find_block(doc, traces, tiny=says_little and is_tiny(markup))
    if stopped is not None:
        return Trouble(stopped.reason, stopped.vendor, doc.status)
    if length > _LONG:
        return find_soft_404(doc, by_title=True)
    parked = find_parked(doc, served=names_parking(traces))
    return parked or find_placeholder(doc) or find_login(doc) or find_soft_404(doc) or find_hollow(doc)


def _find_block(doc: Document, traces: frozenset[int], *, tiny: bool) -> Verdict | None:
    named = named_by_title(doc.title, weak=tiny)
    if named is not None:
        return named
    if len(doc.links) > _MANY_LINKS:
        return None
    for mark in marks_among(traces, doc.headers):
        if _counts(mark, doc, tiny=tiny):
            return mark.verdict
    return _find_speech(doc, tiny=tiny) if len(doc.links) <= _FEW_LINKS else None


def _find_speech(doc: Document, *, tiny: bool) -> Verdict | None:
    """What a page says of itself that has hardly anything else to say: no vendor is known by name."""
    if len(doc.text) > _LONGEST_SPEECH:
        return None
    title = words_of(doc.title)
    called = {title, *title_parts(doc), *headings(doc, "h1")}
    is_named = not UNNAMED_TITLES.isdisjoint(called) or title in UNNAMED_WHOLE_TITLES
    if not tiny and not is_named and QUEUE_TITLES.isdisjoint(called):
        return None
    said = f"{doc.title} {doc.text}".lower().replace("’", "'")
    spoken = next((verdict for speech, verdict in SPEECHES if speech.search(said)), None)
    # Forms that people send ask for a proof, too.
    if spoken and (is_named or not _has_questions(doc)):
        return spoken
    if title not in UNNAMED_TITLES | UNNAMED_WHOLE_TITLES and not _says_next_to_nothing(doc):
        return None  # somebody's service or film may be called so, beside a name or in a heading
    return UNNAMED if tiny and is_named else None


def _counts(mark: Mark, doc: Document, *, tiny: bool) -> bool:
    if mark.weak and not (tiny if mark.spoken or mark in WIDGETS else _is_bare(doc)):
        return False
    if mark.named and not _acts(mark.text.decode(), doc, tiny=tiny):
        return False
    if mark in WIDGETS:
        return len(doc.links) <= _HARDLY_A_LINK and not _has_questions(doc)
    if mark.spoken:
        return len(doc.text) <= _LONGEST_SPEECH and len(doc.links) <= _FEW_LINKS
    # Code that can be read on the page is being talked about.
    return mark.text.decode() not in doc.text


def _is_bare(doc: Document) -> bool:
    """Whether a page is small even with its scripts, or says next to nothing: scripts of any page have weak marks."""
    if _says_next_to_nothing(doc):
        return is_tiny(without_styles(doc.body))
    return len(doc.text) < _FEW_WORDS and len(without_styles(doc.body)) < TINY_PAGE


def _says_next_to_nothing(doc: Document) -> bool:
    return len(doc.text) < _NEXT_TO_NOTHING and len(doc.links) <= _HARDLY_A_LINK


def _acts(name: str, doc: Document, *, tiny: bool) -> bool:
    """Whether something that any page may name is at work on this one: loaded, framed, led to or drawn.

    Where there is nearly nothing else, a longer name will do, and a script that only has it in its text.
    """
    drawn = f'[id*="{name}"],[class*="{name}"]' if tiny else f'[id="{name}"],[class~="{name}"]'
    places = (
        f'script[src*="{name}"],iframe[src*="{name}"],meta[http-equiv=refresh i][content*="{name}"]'
        f",:is({drawn}):not(link,meta,style,script)"
    )
    if doc.tree.select_one(places) is not None:
        return True
    # A large script has such names for all the forms of a site.
    return tiny and doc.size < TINY_PAGE and any(name in script.text for script in doc.landmarks.scripts)


def _has_questions(doc: Document) -> bool:
    """Whether a form asks for anything but proof of being human."""
    fields = doc.tree.select("textarea:not([name$=captcha-response]),select")
    inputs = doc.tree.select("input:not([type=hidden i],[type=submit i],[type=button i],[type=checkbox i])")
    return bool(fields or inputs)
