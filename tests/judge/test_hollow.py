"""Pages that say they need JavaScript: for all of it, or for one part."""

import pytest

from gossamer.model.trouble import Reason, Trouble
from tests.judge.pages import flaw, html

SCRIPT = "<script src=/a.js></script>"
ADDRESS = "<h1>Contact</h1><p>Harbour and Sons, 12 Quay Street, Leeds. Phone 0113 496 0000.</p>"
POST = "<h1>We moved</h1><p>Today all our boats moved to the new quay. It took two hours, and nothing broke.</p>"
DISQUS = (
    "<div id=disqus_thread></div><noscript>Please enable JavaScript to view the "
    '<a href="https://disqus.com/?ref_noscript">comments powered by Disqus.</a></noscript>'
)
SPAM = "This email address is being protected from spambots. You need JavaScript enabled to view it."


@pytest.mark.parametrize(
    "body",
    [
        f"{ADDRESS}<p>{SPAM}</p>",
        f"{ADDRESS}<p>Mail: <span>This e-mail address is being protected from spam bots, "
        "you need JavaScript enabled to view it</span></p>",
        f"{ADDRESS}<p>Cette adresse e-mail est protégée contre les robots spammeurs. "
        "Vous devez activer le JavaScript pour la visualiser.</p>",
        f"{ADDRESS}<p>Este correo está protegido contra spambots. "
        "Necesitas tener JavaScript habilitado para verlo.</p>",
        f"{POST}{DISQUS}",
        f"{POST}<noscript>Please enable JavaScript to view the comments powered by Disqus.</noscript>",
        f"{POST}<p>To view the comments, please enable JavaScript.</p>",
        f"{ADDRESS}<noscript>Please enable JavaScript in your browser to complete this form.</noscript>",
        f"{ADDRESS}<p>This map requires JavaScript.</p>",
        f"{POST}<p>You need to enable JavaScript to watch this video.</p>",
        f"{POST}<noscript>This slideshow requires JavaScript.</noscript>",
        f"{ADDRESS}<p>{SPAM}</p>{DISQUS}",
    ],
)
def test_a_sentence_about_one_part_of_a_page_makes_no_shell(body: str) -> None:
    assert flaw(html("Harbour", SCRIPT + body)) is None


@pytest.mark.parametrize(
    "body",
    [
        "<h1>Harbour</h1><p>Please enable JavaScript to view this site. Comments and mail are welcome.</p>",
        "<h1>Comments</h1><p>Please enable JavaScript to run this app, and then load it again.</p>",
        "<p>Mail and maps for your boat. You need to enable JavaScript to run this app.</p>",
        f"{DISQUS}<noscript>You need to enable JavaScript to run this app.</noscript><p>Harbour and Sons, 1920</p>",
        "<noscript>We're sorry but harbour doesn't work properly without JavaScript\n enabled. Please enable it to "
        "continue.</noscript><p>Harbour and Sons, boats and quays since 1920, all rights reserved</p>",
        "<noscript>Please enable JavaScript to view the comments.</noscript><div id=root></div>",
        "<p>Enable JavaScript to see the map.</p>",
    ],
)
def test_a_page_that_is_for_scripts_alone_is_a_shell(body: str) -> None:
    assert flaw(html("Harbour", SCRIPT + body)) == Trouble(Reason.HOLLOW, http_status=200)
