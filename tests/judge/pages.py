"""Pages for the judge, and what it says of them."""

from gossamer.judge import find_flaw
from gossamer.model.trouble import Trouble
from tests.parse.answers import URL, read

PROSE = (
    "We have mended boats on this lake for three generations, and every spring people ask how we keep track of them. "
    "The answer is dull: we write things down, we look at them again, and we call people back when we said we would. "
)
ARTICLE = "".join(f"<p>{PROSE}</p>" for _ in range(8))
LONG_ARTICLE = "".join(f"<p>{PROSE}</p>" for _ in range(40))
MENU = "".join(f'<li><a href="/menu/{n}">Item {n}</a></li>' for n in range(30))


def html(title: str, body: str, head: str = "") -> str:
    return f"<!DOCTYPE html><html><head><title>{title}</title>{head}</head><body>{body}</body></html>"


def flaw(
    body: str, *, url: str = URL, requested: str | None = None, headers: dict[str, str] | None = None
) -> Trouble | None:
    return find_flaw(read(body, url=url, requested=requested, headers=headers))
