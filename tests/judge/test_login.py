"""Login walls, and pages that have a login on them."""

import pytest

from gossamer.model.trouble import Reason, Trouble
from tests.judge.pages import PROSE, flaw, html

FORM = "<form><input name=user><input type=password name=password><button>Go</button></form>"
MENU = "<ul>" + "".join(f"<li><a href=/p{n}>Page {n}</a>" for n in range(12)) + "</ul>"
CLUB = f"<h1>Harbour Chess Club</h1><p>{PROSE * 4}</p>"
SHORT_CLUB = "<h1>Harbour Chess Club</h1><p>We meet on Tuesdays at eight, in the boathouse. Bring a board.</p>"


@pytest.mark.parametrize(
    ("title", "body"),
    [
        ("Harbour Chess Club", f"{CLUB}{MENU}<div id=sidebar><h2>Login</h2>{FORM}</div>"),
        ("Harbour Chess Club", f"{CLUB}<div><h2>Login</h2>{FORM}</div>"),
        ("Harbour Chess Club", f"{SHORT_CLUB}{MENU}<div><h2>Member login</h2>{FORM}</div>"),
        ("Harbour blog", f"<div id=side><h2>Member login</h2>{FORM}</div><div><h1>Why oak</h1><p>{PROSE}</p></div>"),
        ("Harbour Chess Club", f"{SHORT_CLUB}<aside><h2>Login</h2>{FORM}</aside>"),
        ("Harbour Chess Club", f"{SHORT_CLUB}<div class='box sidebar'><div><h2>Login</h2>{FORM}</div></div>"),
        ("Harbour Chess Club", f"{SHORT_CLUB}<aside><h1>Login</h1>{FORM}</aside>"),
        ("House sparrow", f"<header>{FORM}</header><h1>House sparrow</h1><h2>Identification</h2><p>{PROSE * 3}</p>"),
        ("House sparrow", f"<header>{FORM}</header><h1>House sparrow</h1><h2>Identification</h2><p>A small bird.</p>"),
        ("Identification - Sparrows", f"<header>{FORM}</header><h1>Identification</h1><p>{PROSE * 3}</p>"),
    ],
)
def test_a_login_beside_the_page_is_no_wall(title: str, body: str) -> None:
    assert flaw(html(title, body)) is None


@pytest.mark.parametrize(
    ("title", "body"),
    [
        ("Log in | Harbour", f"<h2>Members</h2>{FORM}<p>{PROSE * 3}</p>"),
        ("Log In ‹ Harbour — WordPress", f"<h1>Powered by WordPress</h1>{FORM}"),
        ("Harbour", f"<h1>Sign in</h1>{FORM}<p>{PROSE * 3}</p>"),
        ("Harbour", f"<header><h1>Log in</h1></header>{FORM}"),
        ("Harbour", f"<h1>Harbour</h1><h2>Sign in</h2>{FORM}<p>Forgot your password? Ask the office.</p>"),
        ("Identification - Le Port", f"<h1>Identification</h1>{FORM}<p>Mot de passe oublié ?</p>"),
    ],
)
def test_a_login_in_the_place_of_the_page_is_a_wall(title: str, body: str) -> None:
    assert flaw(html(title, body)) == Trouble(Reason.LOGIN, "login form instead of the page", 200)
