"""A web with two doors: at the front one some pages are not shown, at the back one all are.

Which pages, and what is shown instead, depends on their addresses alone. A reader who climbs to the back door finds
everything that is true of the web; one who stays at the front misses just these pages and what only they lead to.
"""

from typing import Any

from gossamer_sandbox.web.answer import Answer
from gossamer_sandbox.web.blocked import document
from gossamer_sandbox.web.dice import number
from gossamer_sandbox.web.patience import Patience
from gossamer_sandbox.web.replies import Replies
from gossamer_sandbox.web.sites import Sites

_HTML = (("Content-Type", "text/html; charset=utf-8"),)
_SHELL = document(
    "CRM software",
    '<noscript>You need to enable JavaScript to run this app.</noscript><div id="root"></div>'
    '<script src="/static/app.js"></script>',
)
_INSTEAD = (
    Answer(403, _HTML, document("Forbidden", "<h1>Forbidden: CRM software</h1>").encode()),
    Answer(200, _HTML, _SHELL.encode()),
    Answer(200, _HTML, document("", "").encode()),
)
_PARTS = 1_000


class GuardedReplies(Replies):
    """The front door of a sample web."""

    def __init__(self, sites: Sites, patience: Patience, share: float) -> None:
        super().__init__(sites, patience)
        self._seed = sites.settings.seed
        self._guarded = round(share * _PARTS)

    def _answer(self, host: str, target: str, *more: Any) -> tuple[Answer, bool]:
        answer, lasting = super()._answer(host, target, *more)
        thrown = number(self._seed, "guarded", host, target)
        is_page = answer.status == 200 and any(kind.startswith("text/html") for _, kind in answer.headers)
        if not is_page or target == "/robots.txt" or thrown % _PARTS >= self._guarded:
            return answer, lasting
        return _INSTEAD[thrown // _PARTS % len(_INSTEAD)], lasting
