"""Pages that want a password before they show what was asked for.

A site's own login page, asked for by its address, is an ordinary page and no wall.
"""

import re

from gossamer.judge.headings import headings, title_parts
from gossamer.judge.prose import has_prose
from gossamer.model.document import Document
from gossamer.model.trouble import Reason, Trouble
from gossamer.model.url import path_of

_SHORT = 1_500
_LITTLE = 400
_NEXT_TO_NOTHING = 200
_FEW_LINKS = 10
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
    """A password field where the page should be: after a redirect to a login, or with nothing else to read."""
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
    """In what the page is called; or, where there is little else, in a heading below. Sidebars have logins as well."""
    called = (*title_parts(doc), *headings(doc, "h1", outside=_BESIDE))
    if not _PHRASES.isdisjoint(called):
        return True
    below = headings(doc, "h2", outside=_BESIDE)
    if _AMBIGUOUS.isdisjoint(called) and _PHRASES.isdisjoint(below):
        return False
    # A heading of another kind may be the site's name, or that of an article beside a login.
    return len(doc.links) <= _FEW_LINKS and not has_prose(doc, _NEXT_TO_NOTHING if headings(doc, "h1") else _LITTLE)
