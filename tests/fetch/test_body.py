"""How the headers of a response are read."""

from datetime import timedelta

import pytest

from gossamer.fetch.http import HttpSession
from gossamer.parse.metadata import header_forbids_following
from tests.fetch.loopback import Site, answer


@pytest.mark.parametrize(
    ("sent", "forbidden"),
    [
        ((b"X-Robots-Tag: otherbot: noindex", b"X-Robots-Tag: nofollow"), True),
        ((b"X-Robots-Tag: otherbot: noindex", b"X-Robots-Tag: unavailable_after: 1 Jan 2030 0:00, nofollow"), True),
        ((b"X-Robots-Tag: nofollow", b"X-Robots-Tag: otherbot: noindex"), True),
        ((b"X-Robots-Tag: otherbot: noindex", b"X-Robots-Tag: noindex", b"X-Robots-Tag: none"), True),
        ((b"X-Robots-Tag: gossamer: noindex", b"X-Robots-Tag: otherbot: nofollow"), False),
        ((b"X-Robots-Tag: otherbot: noindex, nofollow", b"X-Robots-Tag: noindex"), False),
    ],
)
async def test_what_is_said_to_one_robot_ends_with_its_header(
    site: Site, session: HttpSession, sent: tuple[bytes, ...], forbidden: bool
) -> None:
    site.pages["/"] = answer(b"", *sent)
    response = await session.fetch("http://shop.test/", timeout=timedelta(seconds=10), max_bytes=1_000)
    assert header_forbids_following(response.header("x-robots-tag")) is forbidden


async def test_other_repeated_headers_are_one_list(site: Site, session: HttpSession) -> None:
    site.pages["/"] = answer(b"", b"Link: <a:b>", b"Link: <c>")
    response = await session.fetch("http://shop.test/", timeout=timedelta(seconds=10), max_bytes=1_000)
    assert response.header("link") == "<a:b>, <c>"
