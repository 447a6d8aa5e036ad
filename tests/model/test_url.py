"""One spelling per page, and which site, domain and shard an address belongs to."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gossamer.model.url import (
    MAX_URL_LENGTH,
    domain_of,
    host_of,
    is_homepage,
    normalise,
    origin_of,
    path_of,
    shard_of,
    site_of,
    site_of_url,
    url_key,
)


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("http://example.com", "http://example.com/"),
        ("HTTP://EXAMPLE.com:80/", "http://example.com/"),
        ("https://example.com:443/a", "https://example.com/a"),
        ("https://example.com:8443/a", "https://example.com:8443/a"),
        ("https://example.com/a/./b/../c", "https://example.com/a/c"),
        ("https://example.com/../../a", "https://example.com/a"),
        ("https://example.com/a/%2e%2E/b", "https://example.com/b"),
        ("https://example.com/a#frag?x", "https://example.com/a"),
        ("https://example.com/a?", "https://example.com/a"),
        ("https://example.com/?a=1&&b=2&", "https://example.com/?a=1&b=2"),
        ("https://user:pw@example.com/", "https://example.com/"),
        ("https://example.com/a b", "https://example.com/a%20b"),
        ("https://example.com/%7euser/%c3%a9", "https://example.com/~user/%C3%A9"),
        ("https://example.com/é", "https://example.com/%C3%A9"),
        ("https://example.com/a%2Fb", "https://example.com/a%2Fb"),
        ("https://example.com/100%", "https://example.com/100%"),
        ("https://EXAMPLE.com/CaSe?Q=CaSe", "https://example.com/CaSe?Q=CaSe"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("https://example.com\\a\\b", "https://example.com/a/b"),
        (" https://exa\nmple.com/ ", "https://example.com/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://[::1]:8080/x", "http://[::1]:8080/x"),
        ("https://example.com/?utm_source=x&id=3&gclid=y", "https://example.com/?id=3"),
        ("https://example.com/?UTM_Campaign=x", "https://example.com/"),
        ("https://example.com/?fbclid", "https://example.com/"),
        ("https://example.com/?PHPSESSID=abc&p=1", "https://example.com/?p=1"),
        ("https://example.com/shop;jsessionid=AB12?x=1", "https://example.com/shop?x=1"),
        ("https://example.com/?sid=12", "https://example.com/?sid=12"),
        ("https://example.com/?sid=0123456789abcdef0", "https://example.com/"),
        ("https://example.com/?sid=9b2f8c1e-5d43-4c5e-9a1b-0123456789ab", "https://example.com/"),
        ("https://example.com/talk?session_id=12", "https://example.com/talk?session_id=12"),
        (
            "https://example.com/talk?sessionId=keynote-of-the-year",
            "https://example.com/talk?sessionId=keynote-of-the-year",
        ),
        ("https://example.com/?session_id=3q2-7wAB_c9ZkLmNoPqRsT", "https://example.com/"),
        ("https://example.com/?sessionid=s%3AabcDEF1234567890.xyz&p=1", "https://example.com/?p=1"),
        ("https://example.com/?SessionID=0123456789ABCDEF01&p=1", "https://example.com/?p=1"),
        ("https://example.com/?b=2&a=1", "https://example.com/?b=2&a=1"),
        ("https://example.com/?a=b=c&d", "https://example.com/?a=b=c&d"),
        ("https://example.com//a//b/", "https://example.com//a//b/"),
    ],
)
def test_the_one_spelling(written: str, normal: str) -> None:
    assert normalise(written) == normal
    assert normalise(normal) == normal


@pytest.mark.parametrize(
    "written",
    ["", "example.com", "/a", "mailto:a@b.example", "javascript:x", "ftp://example.com/", "http://", "https://[bad",
     "http://a b/", "http://example.com:99999/", "data:,x", "file:///etc/passwd", "\ud800", "about:blank",
     "https://example.com/" + "a" * MAX_URL_LENGTH, "http://1.2.3.4.5/", "https://exa%00mple.com/"],
)  # fmt: skip
def test_what_is_no_web_address(written: str) -> None:
    assert normalise(written) is None


@pytest.mark.parametrize(
    ("href", "joined"),
    [
        ("x", "https://example.com/a/x"),
        ("../x", "https://example.com/x"),
        ("/x", "https://example.com/x"),
        ("//other.example", "https://other.example/"),
        ("?q=1", "https://example.com/a/b?q=1"),
        ("", "https://example.com/a/b?c=d"),
        ("#top", "https://example.com/a/b?c=d"),
        ("http://other.example/", "http://other.example/"),
        ("mailto:x", None),
    ],
)
def test_joining(href: str, joined: str | None) -> None:
    assert normalise(href, "https://example.com/a/b?c=d") == joined


_PIECES = st.sampled_from(
    ["http://", "https://", "HTTPS://", "example.com", "EXAMPLE.COM", "a.b", "xn--", ":80", ":443", ":8080", "user@",
     "/", "//", "/./", "/../", "/..", "/.", "%2e", "%2E%2e", "%2f", "%", "%4", "%41", "%c3%a9", "é", "ß", "?", "&",
     "=", "#",
     ";", ";jsessionid=1", "..;jsessionid=1", "utm_source=x", "sid=", "a", "B", "~", " ", "\t", "\\", "|", "[", "]",
     "@", "127.0.0.1", "[::1]", "\u3002", "\u200b", "。", "+", "%25", "%252e", "{", "\"", "<"]
)  # fmt: skip
_ADDRESSES = st.one_of(
    st.lists(_PIECES, max_size=12).map("".join),
    st.lists(_PIECES, max_size=10).map(lambda pieces: "https://example.com/" + "".join(pieces)),
    st.text(max_size=40),
)


def check_spelling(url: str) -> None:
    """What no normal address contains."""
    origin, (path, _, query) = origin_of(url), path_of(url).partition("?")
    assert "@" not in origin
    assert origin == origin.lower()
    assert not re.fullmatch(r"http://.*:80|https://.*:443|.*\.|.*\.:\d+", origin)
    assert not {".", ".."} & set(path.split("/"))
    assert not re.search(r"(?i)(?:^|&)(?:utm_\w+|gclid|fbclid|phpsessid)(?:=|&|$)|&&|^&|&$", query)
    assert not re.search(r"(?i);jsessionid=", path)
    # A stray percent sign keeps what follows it as it is; every other escape is in capitals, and needed.
    for escape in re.findall(r"(?<!%)(?<!%[0-9A-Fa-f])%([0-9A-Fa-f]{2})", path + "?" + query):
        assert escape == escape.upper()
        assert not re.fullmatch(r"[\w.~-]", chr(int(escape, 16)), re.ASCII)


@settings(max_examples=1_000, deadline=None)
@given(_ADDRESSES)
@example("https://example.com/a/..;jsessionid=1/b")
@example("https://example.com/?utm_%73ource=x")
@example("https://example.com/;jsessionid=%41/x")
@example("https://example.com/?%75tm_source=1&a")
@example("https://example.com/%3Bjsessionid=1")
@example("https://example.com/%4%41")
@example("https://example.com/%%34%31")
def test_normalising_never_raises_and_changes_nothing_twice(written: str) -> None:
    once = normalise(written)
    if once is not None:
        assert normalise(once) == once
        assert once.isascii()
        assert len(once) <= MAX_URL_LENGTH
        assert "#" not in once
        assert once.startswith(origin_of(once))
        assert origin_of(once) + path_of(once) == once
        assert host_of(once)
        url_key(once)
        check_spelling(once)


@settings(deadline=None)
@given(_ADDRESSES, st.sampled_from(["https://example.com/a/b?c=d", "http://[::1]:8080/x/", "https://example.com/"]))
def test_joining_never_raises_and_gives_a_normal_address(href: str, base: str) -> None:
    joined = normalise(href, base)
    assert joined is None or normalise(joined) == joined


# How a piece of an address may be written, and what it means; None: nothing at all.
_WRITTEN_SEGMENTS = st.sampled_from(
    [("a", "a"), ("A", "A"), ("%41", "A"), ("b-_.~", "b-_.~"), ("%7e", "~"), ("%2D%5f", "-_"), ("é", "%C3%A9"),
     ("%c3%a9", "%C3%A9"), ("日", "%E6%97%A5"), ("a b", "a%20b"), ("%20", "%20"), ("%2f", "%2F"), ("%2F", "%2F"),
     ("%3b", "%3B"), ("%", "%"), ("100%", "100%"), ("%zz", "%zz"), ("%25", "%25"), ("%2541", "%2541"), ("a+b", "a+b"),
     ("a:b@c", "a:b@c"), (";v=1", ";v=1"), ("x;jsessionid=AB1", "x"), (";JSESSIONID=1;v", ";v"), ("...", "..."),
     (".a", ".a"), ("", ""), (".", "."), ("..", ".."), ("%2e", "."), ("%2E%2e", ".."), (".%2e", "..")]
)  # fmt: skip
_WRITTEN_PARAMETERS = st.sampled_from(
    [("a=1", "a=1"), ("a", "a"), ("A=1", "A=1"), ("b=", "b="), ("=", "="), ("q=%7e%41", "q=~A"), ("q=é", "q=%C3%A9"),
     ("q=a+b", "q=a+b"), ("q=a b", "q=a%20b"), ("x=a%26b", "x=a%26b"), ("x=%3d", "x=%3D"), ("p=/../", "p=/../"),
     ("u=http://x/?y", "u=http://x/?y"), ("utm=1", "utm=1"), ("utm_=1", "utm_=1"), ("sid=12", "sid=12"), ("", None),
     ("utm_source=x", None), ("UTM_Medium=%41", None), ("%75tm_id", None), ("gclid", None), ("fbclid=", None),
     ("PHPSESSID=1", None), ("jsessionid=1", None), ("sid=0123456789abcdef", None), ("mc_cid=a=b", None)]
)  # fmt: skip
_WRITTEN_ORIGINS = st.sampled_from(
    [("http://example.com", "http://example.com"), ("HTTP://EXAMPLE.com", "http://example.com"),
     ("http://example.com:80", "http://example.com"), ("http://example.com:080", "http://example.com"),
     ("http://example.com:", "http://example.com"), ("https://example.com:80", "https://example.com:80"),
     ("https://example.com:443", "https://example.com"), ("https://example.com:8443", "https://example.com:8443"),
     ("https://me:pw@example.com", "https://example.com"), ("https://example.com.", "https://example.com"),
     ("https://Bücher.example", "https://xn--bcher-kva.example"), ("https:\\\\example.com", "https://example.com"),
     (" https://ex\nample.com", "https://example.com"),
     ("http://0x7f.1", "http://127.0.0.1"), ("http://[0:0::1]:80", "http://[::1]")]
)  # fmt: skip


def walked(segments: list[str]) -> str:
    """Where one stands after going through the segments like a visitor through folders."""
    folders: list[str] = []
    for segment in segments[:-1]:
        if segment == "..":
            del folders[-1:]
        elif segment != ".":
            folders.append(segment)
    last = segments[-1]
    if last == "..":
        del folders[-1:]
    return "".join(f"/{folder}" for folder in folders) + "/" + (last if last not in (".", "..") else "")


@settings(max_examples=1_000, deadline=None)
@given(
    _WRITTEN_ORIGINS,
    st.lists(_WRITTEN_SEGMENTS, min_size=1, max_size=6),
    st.lists(_WRITTEN_PARAMETERS, max_size=5),
    st.sampled_from(["", "#", "#top", "#/a?b=1&utm_source=x"]),
    st.sampled_from(["/", "\\"]),
)
def test_an_address_means_what_its_pieces_mean(
    origin: tuple[str, str],
    segments: list[tuple[str, str]],
    parameters: list[tuple[str, str | None]],
    fragment: str,
    slash: str,
) -> None:
    query = "&".join(written for written, _ in parameters)
    written = origin[0] + "".join(slash + segment for segment, _ in segments) + f"?{query}" + fragment
    kept = "&".join(meaning for _, meaning in parameters if meaning is not None)
    expected = origin[1] + walked([meaning for _, meaning in segments]) + (f"?{kept}" if kept else "")
    assert normalise(written) == expected
    assert normalise(written, "https://elsewhere.example/x/y?z") == expected
    assert normalise(expected) == expected


_SEGMENT = st.text(alphabet="abcXYZ019-_~é", min_size=1, max_size=8)


@settings(deadline=None)
@given(st.lists(_SEGMENT, max_size=4), st.dictionaries(_SEGMENT, _SEGMENT, max_size=3))
def test_spellings_of_the_same_page_are_equal(segments: list[str], query: dict[str, str]) -> None:
    path = "/" + "/".join(segments)
    tail = "&".join(f"{name}={value}" for name, value in query.items())
    plain = f"https://example.com{path}?{tail}"
    variants = (
        f"HTTPS://Example.COM:443{path}?{tail}#here",
        f"https://me@example.com/x/..{path}?{tail}",
        f"https://example.com/.{path}?{tail}&utm_medium=mail",
        f"https://example.com{path}?fbclid=1&{tail}",
        plain.replace("a", "%61").replace("ex%61mple", "example").replace("~", "%7e").replace("é", "%c3%a9"),
    )
    assert {normalise(variant) for variant in variants} == {normalise(plain)}


@pytest.mark.parametrize(
    ("host", "site", "domain"),
    [
        ("example.com", "example.com", "example.com"),
        ("www.example.com", "example.com", "example.com"),
        ("blog.example.com", "blog.example.com", "example.com"),
        ("www.blog.example.co.uk", "blog.example.co.uk", "example.co.uk"),
        ("www.com", "www.com", "www.com"),
        ("www2.example.com", "www2.example.com", "example.com"),
        ("a.blogspot.com", "a.blogspot.com", "a.blogspot.com"),
        ("www.a.blogspot.com", "a.blogspot.com", "a.blogspot.com"),
        ("me.github.io", "me.github.io", "me.github.io"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("127.0.0.1", "127.0.0.1", "127.0.0.1"),
        ("localhost", "localhost", "localhost"),
        ("co.uk", "co.uk", "co.uk"),
    ],
)
def test_sites_and_domains(host: str, site: str, domain: str) -> None:
    assert site_of(host) == site
    assert domain_of(host) == domain
    assert site_of_url(f"https://{host}:8443/x?y") == site


def test_all_spellings_of_an_address_literal_share_a_domain() -> None:
    assert domain_of("[::1]") == domain_of("[0:0:0:0:0:0:0:1]")
    assert site_of_url("http://[::1]:80/") == "[::1]"


@pytest.mark.parametrize(
    ("url", "host", "origin", "path"),
    [
        ("https://example.com/", "example.com", "https://example.com", "/"),
        ("http://example.com:8080/a/b?c=/d", "example.com", "http://example.com:8080", "/a/b?c=/d"),
        ("http://[::1]:8080/x", "[::1]", "http://[::1]:8080", "/x"),
    ],
)
def test_parts(url: str, host: str, origin: str, path: str) -> None:
    assert (host_of(url), origin_of(url), path_of(url)) == (host, origin, path)
    assert is_homepage(url) is (path == "/")


def test_keys_of_a_site_lie_together_and_differ() -> None:
    keys = [url_key(f"https://{host}/{n}") for host in ("example.com", "www.example.com") for n in range(50)]
    assert len(set(keys)) == 100
    assert {len(key) for key in keys} == {12}
    assert len({key[:4] for key in keys}) == 1
    assert url_key("https://other.example/1")[:4] != keys[0][:4]


def test_shards_are_spread_and_steady() -> None:
    shards = [shard_of(f"site-{n}.example") for n in range(2_000)]
    assert all(0 <= shard < 65_536 for shard in shards)
    assert len(set(shards)) > 1_900
    assert shards == [shard_of(f"site-{n}.example") for n in range(2_000)]
    assert 800 < sum(shard % 2 for shard in shards) < 1_200
