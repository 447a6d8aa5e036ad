"""Checks of a page with a good status that may still be a block page, hollow, a login or a placeholder.

A site's own login page, asked for by its address, is an ordinary page and no wall.

A page with much text passes: all the pages looked for here are short, and an article about captchas, missing pages or
Cloudflare is not. That also keeps this nearly free for most pages.
"""

import re

from gossamer.judge.bot_protections import (
    LONG_PREFIX,
    PREFIX,
    QUEUE_TITLES,
    SPEECHES,
    TINY_PAGE,
    UNNAMED,
    UNNAMED_TITLES,
    UNNAMED_WHOLE_TITLES,
    WIDGETS,
    Mark,
    Protection,
    is_tiny,
    marks_among,
    named_by_headers,
    named_by_place,
    named_by_title,
    names_parking,
    traces_in,
    without_styles,
)
from gossamer.judge.placeholders import SHORT, find_parked, find_placeholder
from gossamer.judge.soft_404 import find_soft_404
from gossamer.judge.wording import has_prose, headings, title_parts, words_of
from gossamer.model.document import Document
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.url import path_of

# Characters of visible text: hardly a sentence; not yet a page.
_HARDLY_ANY = 50
_LITTLE_IN_SHELL = 250
_FEW_LINKS_IN_SHELL = 5

# Where the usual frameworks put what they render.
_ROOTS = (
    "#root", "#app", "#__next", "#__nuxt", "#__layout", "#___gatsby", "#svelte", "#q-app", "#app-root", "#react-root",
    "#app-container", "#main-app", "#application", "#ember-app", "#spa-root", "app-root", "[ng-app]",
)  # fmt: skip
_SHOWN_WITHOUT_WORDS = ("img", "svg", "video", "object", "embed", "iframe", "frame", "canvas", "form")
_NEEDS_SCRIPT = re.compile(
    r"\b(?:enabl|activat|turn\W+on|requir|need|without|disabl|unterst|aktivier|activ|habilit|abilit|включ|inschakel)\w*"
    r"\W+(?:\w+\W+){0,4}java\s?script"
    r"|java\s?script\W+(?:\w+\W+){0,4}(?:enabl|activat|requir|need|disabl|turned\W+o|aktivier|activ|habilit|abilit|включ)",
    re.IGNORECASE,
)
# Single parts of a page that have a sentence of their own about it, as address cloaking and comment services do.
_PART = (
    r"(?:comment|kommentar|coment[aá]rio|disqus|maps?\b|videos?\b|player|forms?\b|formul[aá]r|galler|slide ?show"
    r"|calendar|e-?mail[ -]ad|adresse (?:e-?)?mail|this e-?mail|widget|poll\b|tweets?\b)"
)
_PART_BEHIND = re.compile(rf"(?:(?![.!?](?:\s|$)).){{0,120}}?\b{_PART}", re.IGNORECASE | re.DOTALL)
# As its subject, or as what one should do it for.
_PART_BEFORE = re.compile(
    rf"\b{_PART}\w*\W+$|\b(?:to|for|um|pour|para|per)\W+(?:\w+\W+){{0,4}}{_PART}\w*\W+(?:\w+\W+){{0,3}}$",
    re.IGNORECASE,
)
# In any language an address is cloaked against these, and the next sentence says how to see it.
_CLOAKED = re.compile("spam|спам", re.IGNORECASE)
_CODE_TYPES = frozenset({"", "module", "text/javascript", "application/javascript", "text/ecmascript"})


def find_hollow(doc: Document) -> Trouble | None:
    """Return HOLLOW if a script is missing, EMPTY if the page has no content; None if it refreshes elsewhere."""
    length = len(doc.text)
    if length >= _LITTLE_IN_SHELL or doc.refresh:
        return None
    if _has_code(doc) and _waits_for_script(doc, length):
        return Trouble(Reason.HOLLOW, http_status=doc.status)
    if not length and not doc.links and not _shows_something(doc, frames=False):
        return Trouble(Reason.EMPTY, http_status=doc.status)
    return None


def _has_code(doc: Document) -> bool:
    """Return True if the page has scripts that run; data in `<script>` elements (JSON-LD) fills no page."""
    return any((each.attr("type") or "").strip().lower() in _CODE_TYPES for each in doc.tree.find_all("script"))


def _waits_for_script(doc: Document, length: int) -> bool:
    if _has_empty_root(doc) or _says_so(doc):
        return len(doc.links) <= _FEW_LINKS_IN_SHELL
    return length < _HARDLY_ANY and len(doc.links) < _FEW_LINKS_IN_SHELL and not _shows_something(doc)


def _has_empty_root(doc: Document) -> bool:
    for selector in _ROOTS:
        root = doc.tree.select_one(selector)
        if root is not None and len(root.text.strip()) < _HARDLY_ANY:
            return True
    return False


def _says_so(doc: Document) -> bool:
    """Return True if the page states that it has no content for visitors without JavaScript."""
    apologies = [each.text[:1_000] for each in doc.tree.find_all("noscript", limit=10)]
    return any(
        not _is_about_a_part(text, found) for text in (doc.text, *apologies) for found in _NEEDS_SCRIPT.finditer(text)
    )


def _is_about_a_part(text: str, found: re.Match[str]) -> bool:
    before = text[max(0, found.start() - 120) : found.start()]
    return bool(_PART_BEHIND.match(text, found.end()) or _PART_BEFORE.search(before) or _CLOAKED.search(before))


def _shows_something(doc: Document, *, frames: bool = True) -> bool:
    """Return True if the page has visible content without words.

    The content of a frame belongs to another page.
    """
    return any(doc.tree.find(tag) is not None for tag in _SHOWN_WITHOUT_WORDS if frames or tag != "iframe")


_SHORT = 1_500
_LITTLE_BESIDE_LOGIN = 400
_NEXT_TO_NOTHING_BESIDE_LOGIN = 200
_FEW_LINKS_BESIDE_LOGIN = 10
_BESIDE = "aside,nav,footer,[role=complementary i],[class~=sidebar i],[id=sidebar i],[class~=widget i]"
_PLACE = re.compile(
    r"/(?:log-?in|sign-?in|logon|sso|auth|authwall|authenticate|session/new|sessions/new|wp-login\.php|oauth2?|saml2?"
    r"|users/sign_in|accounts?/login|connexion|anmelden|iniciar-sesion|accedi|inloggen)(?:[/.?]|$)",
    re.IGNORECASE,
)
_PHRASES = frozenset({
    "log in", "login", "log on", "logon", "sign in", "signin", "sign on", "member login", "members login",
    "user login", "customer login", "client login", "account login", "admin login", "please log in", "please sign in",
    "login required", "please login", "log in to your account", "sign in to your account", "login to your account",
    "log in to continue", "sign in to continue", "authentication required", "anmelden", "anmeldung", "einloggen",
    "connexion", "se connecter", "iniciar sesión", "acceder", "accedi", "entrar", "inloggen",
    "logga in", "logg inn", "log ind", "zaloguj się", "logowanie", "přihlášení", "bejelentkezés", "giriş yap",
    "войти", "вход", "авторизация", "увійти", "ログイン", "登录", "登入", "로그인",
})  # fmt: skip
# French for it, and what is told about birds.
_AMBIGUOUS = frozenset({"identification"})


def find_login(doc: Document) -> Trouble | None:
    """Return the trouble of a password field in place of the page: after a redirect, or with little other text."""
    if doc.url == doc.requested and len(doc.text) > _SHORT:
        return None  # neither sent elsewhere nor without anything else to read
    # Asked of the bytes first: cheaper than the tree, and no for nearly every page.
    if b"assword" not in doc.body or _is_login_place(doc.requested):
        return None
    if doc.tree.select_one("input[type=password i]") is None:
        return None
    if doc.url != doc.requested and _is_login_place(doc.url):
        return Trouble(Reason.LOGIN, "redirected to a login page", doc.status)
    if len(doc.text) <= _SHORT and _speaks_of_login(doc):
        return Trouble(Reason.LOGIN, "login form instead of the page", doc.status)
    return None


def _is_login_place(url: str) -> bool:
    return _PLACE.search(path_of(url)) is not None


def _speaks_of_login(doc: Document) -> bool:
    """Return True if the title or `<h1>` names a login, or if an `<h2>` or an ambiguous title of a short page does.

    Headings in sidebars are ignored: they name logins on any page.
    """
    called = (*title_parts(doc), *headings(doc, "h1", outside=_BESIDE))
    if not _PHRASES.isdisjoint(called):
        return True
    below = headings(doc, "h2", outside=_BESIDE)
    if _AMBIGUOUS.isdisjoint(called) and _PHRASES.isdisjoint(below):
        return False
    # A heading of another kind may be the site's name, or that of an article next to a login.
    return len(doc.links) <= _FEW_LINKS_BESIDE_LOGIN and not has_prose(
        doc, _NEXT_TO_NOTHING_BESIDE_LOGIN if headings(doc, "h1") else _LITTLE_BESIDE_LOGIN
    )


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
    """Return the problem of a page that was read; None if it should be harvested."""
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


def _find_block(doc: Document, traces: frozenset[int], *, tiny: bool) -> Protection | None:
    named = named_by_title(doc.title, weak=tiny)
    if named is not None:
        return named
    if len(doc.links) > _MANY_LINKS:
        return None
    for mark in marks_among(traces, doc.headers):
        if _counts(mark, doc, tiny=tiny):
            return mark.verdict
    return _find_speech(doc, tiny=tiny) if len(doc.links) <= _FEW_LINKS else None


def _find_speech(doc: Document, *, tiny: bool) -> Protection | None:
    """Return the block that a page with little other text states; its vendor is unknown."""
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
        return None  # a service or a film may have that name, next to other words or in a heading
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
    """Return True if a page is small even with its scripts, or has almost no text.

    Scripts of any page can contain weak marks.
    """
    if _says_next_to_nothing(doc):
        return is_tiny(without_styles(doc.body))
    return len(doc.text) < _FEW_WORDS and len(without_styles(doc.body)) < TINY_PAGE


def _says_next_to_nothing(doc: Document) -> bool:
    return len(doc.text) < _NEXT_TO_NOTHING and len(doc.links) <= _HARDLY_A_LINK


def _acts(name: str, doc: Document, *, tiny: bool) -> bool:
    """Return True if a component that any page may mention is active on this page.

    That means loaded, framed, linked or drawn. On a nearly empty page, a longer name that contains it is
    enough, and so is a script that only has it in its text.
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
    """Return True if a form has fields other than a proof of being human."""
    fields = doc.tree.select("textarea:not([name$=captcha-response]),select")
    inputs = doc.tree.select("input:not([type=hidden i],[type=submit i],[type=button i],[type=checkbox i])")
    return bool(fields or inputs)
