"""Lists of domains as people really have them, and what is said about those that cannot be read."""

import codecs
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gossamer.errors import UserError
from gossamer.intake.domain import BadEntry, Domain, clean, read_domain
from gossamer.intake.targets import MAX_TARGETS, TargetList, read_targets, removed_sentence
from gossamer.model.url import normalise


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "list.csv"


def hosts(path: Path, content: str | bytes) -> list[str]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return [target.host for target in read_targets(path).targets]


def refusal(path: Path, content: str | bytes | None = None) -> UserError:
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(UserError) as caught:
        read_targets(path)
    message = str(caught.value)
    assert message.isprintable(), "one line, nothing that moves the cursor"
    assert caught.value.hint
    assert caught.value.message.endswith(".")
    return caught.value


def outcome(path: Path) -> TargetList | UserError:
    try:
        return read_targets(path)
    except UserError as error:
        return error


def entries(path: Path, line: str) -> tuple[str, ...]:
    path.write_text(line)
    (target,) = read_targets(path).targets
    return target.entries


SHAPES = {
    "bare lines": "a.com\nb.org\n",
    "no newline at the end": "a.com\nb.org",
    "windows": "a.com\r\nb.org\r\n",
    "old mac": "a.com\rb.org\r",
    "blank lines": "\n\na.com\n   \n\t\nb.org\n\n",
    "comments": '# mine\na.com\n  # indented, with "quotes\nb.org # a remark, with comma\n',
    "a header": "domain\na.com\nb.org\n",
    "a shouted header": "  DOMAINS \na.com\nb.org\n",
    "a quoted header": '"Domain"\n"a.com"\n"b.org"\n',
    "a header in words": "Company website\na.com\nb.org\n",
    "spaces and quotes": "  a.com  \n'b.org'\n",
    "typographic quotes": "“a.com”\n«b.org»\n",
    "angle brackets": "<http://a.com/>\n<b.org>\n",
    "upper case": "A.COM\nHTTP://B.Org/X\n",
    "paths": "https://a.com/path/?q=1#top\nb.org/index.html\n",
    "trailing dots and slashes": "a.com.\nb.org.//\n",
    "ports": "a.com:8080\nhttp://b.org:80/\n",
    "user info": "http://user:pass@a.com/\nuser:p@ss@b.org\n",
    "full-width dots": "a。com\nb．org\n",
    "full-width letters": "ａ．ｃｏｍ\nｂ．ｏｒｇ\n",
    "backslashes": "http:\\\\a.com\\x\nb.org\\y\n",
    "no scheme but slashes": "//a.com/x\n//b.org\n",
    "zero-width marks": "\u200ba.com\u200b\n\ufeffb.org\n",
    "no-break spaces": "\xa0a.com\xa0\nb.org\n",
    "ctrl-z at the end": "a.com\nb.org\n\x1a",
    "comma": "Example Inc,a.com,US\nOther Ltd,b.org,DE\n",
    "comma, last column": "1,10.5,a.com\n2,11.5,b.org\n",
    "comma with a header": "rank,Domain,owner.name\n1,a.com,x.y\n2,b.org,x.y\n",
    "semicolon and decimals": "Firma;Domain;Umsatz\nFoo, Inc;a.com;1,5\nBar;b.org;2,5\n",
    "tab": "name\turl\nFoo\thttps://a.com/\nBar\thttps://b.org/\n",
    "pipe": "a.com|US\nb.org|DE\n",
    "excel hint": "sep=;\na.com;1,5\nb.org;2,5\n",
    "an unknown header over several columns": "Firma,Adresse\nFoo,a.com\nBar,b.org\n",
    "quoted commas": 'name,website\n"Foo, Inc",a.com\n"Bar ""B"" Ltd",b.org\n',
    "cells of several lines": 'domain,note\na.com,"one\ntwo, three\n# four"\nb.org,"x"\n',
    "quotes that do not match": 'a.com,"Foo\nb.org,"Bar"\n',
    "a quote that never ends": '"a.com\nb.org\n',
    "empty cells": "name,domain\nFoo,a.com\nNone,\n,,\nBar,b.org\n",
    "a lone cell in a wider table without titles": "Foo,a.com\nBar,a.com\nb.org\n",
    "rows that end before the titled column": "Company,Website\nBooking.com\nFoo,a.com\nx.net,\nx.net\nBar,b.org\n",
    "rows that end before an unusual title": "Firma,Adresse\nBooking.com\nFoo,a.com\nBar,b.org\n",
    "a title and rows with more cells": "domain\na.com,x.net\nb.org\n",
    "a ragged table": "a.com\nb.org,US,extra\n",
    "one line": "a.com, b.org",
    "domain before site": "site,domain,url\nFoo Shop,a.com,http://x.net/1\nBar Shop,b.org,http://x.net/2\n",
    "commas in addresses": "http://a.com/x,y\nhttp://b.org/z\n",
    "e-mail column": "joe@x.net,a.com\nann@y.net,b.org\n",
}


@pytest.mark.parametrize("content", SHAPES.values(), ids=SHAPES.keys())
def test_the_same_two_domains_in_every_shape(path: Path, content: str) -> None:
    assert hosts(path, content) == ["a.com", "b.org"]


def test_a_row_hidden_by_an_unmatched_quote_is_refused_and_not_left_out(path: Path) -> None:
    assert "line 2" in refusal(path, 'name,domain\n"Foo,a.com\nBar,b.org\n').message


ENCODINGS = {
    "utf-8 with mark": codecs.BOM_UTF8 + "domain\nmüller.de\n".encode(),
    "utf-16 little": "\ufeffdomain\r\nmüller.de\r\n".encode("utf-16-le"),
    "utf-16 big": "\ufeffdomain\nmüller.de\n".encode("utf-16-be"),
    "utf-32": "domain\nmüller.de\n".encode("utf-32"),
    "latin-1": "domain\nmüller.de\n".encode("latin-1"),
    "windows": "note,domain\n“x” €,müller.de\n".encode("cp1252"),
    "latin-1 with bytes windows has not": b"note,domain\n\x81\x8d,m\xfcller.de\n",
    "latin-1 after a mark": codecs.BOM_UTF8 + b"domain\nm\xfcller.de\n",
}


@pytest.mark.parametrize("content", ENCODINGS.values(), ids=ENCODINGS.keys())
def test_every_encoding_an_editor_may_choose(path: Path, content: bytes) -> None:
    assert hosts(path, content) == ["xn--mller-kva.de"]


def test_a_site_is_named_once_whatever_its_spelling(path: Path) -> None:
    path.write_text("www.a.com\nhttp://a.com/x\nA.com\nshop.a.com\nhttps://www.a.com:443/\nwww.shop.a.com\na.com.\n")
    found = read_targets(path)
    assert [target.host for target in found.targets] == ["a.com", "shop.a.com"]
    assert (found.given, found.duplicates) == (7, 5)
    assert [target.given for target in found.targets] == ["www.a.com", "shop.a.com"]


def test_international_names_meet_in_one_spelling(path: Path) -> None:
    assert hosts(path, "münchen.de\nxn--mnchen-3ya.de\nMÜNCHEN.DE\nwww.münchen。de\n") == ["xn--mnchen-3ya.de"]
    assert hosts(path, "faß.de\nпример.рф\n例え.jp\n") == ["xn--fa-hia.de", "xn--e1afmkfd.xn--p1ai", "xn--r8jz45g.jp"]


def test_lenient_as_browsers_are(path: Path) -> None:
    content = "my_shop.example.com\n_x.example.com\n-odd-.example.com\nexample.museum\nweb.co.uk\ni❤.ws\n"
    assert len(hosts(path, content)) == 6


def test_addresses_are_left_to_the_guard(path: Path) -> None:
    content = "93.184.216.34\nhttp://127.0.0.1:8080/x\n10.0.0.1\n[::1]\nhttp://[2001:DB8::1]:81/\n2001:db8::2\n"
    expected = ["93.184.216.34", "127.0.0.1", "10.0.0.1", "[::1]", "[2001:db8::1]", "[2001:db8::2]"]
    assert hosts(path, content) == expected
    assert entries(path, "127.0.0.1:8080") == (
        "https://127.0.0.1:8080/",
        "http://127.0.0.1:8080/",
        "https://127.0.0.1/",
        "http://127.0.0.1/",
    )
    assert entries(path, "::1") == ("https://[::1]/", "http://[::1]/")


USUAL = ("https://a.com/", "http://a.com/", "https://www.a.com/", "http://www.a.com/")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a.com", USUAL),
        ("www.a.com", USUAL),
        ("https://a.com/x?y", USUAL),
        ("http://a.com/x", ("http://a.com/", "https://a.com/", "https://www.a.com/", "http://www.a.com/")),
        ("https://www.a.com", ("https://www.a.com/", "https://a.com/", "http://a.com/", "http://www.a.com/")),
        ("http://a.com:8080/x", ("http://a.com:8080/", *USUAL)),
        ("https://a.com:443", USUAL),
        ("http://a.com:443", ("http://a.com:443/", *USUAL)),
        ("a.com:80", ("http://a.com/", "https://a.com/", "https://www.a.com/", "http://www.a.com/")),
        ("a.com:443", USUAL),
        ("a.com:8443", ("https://a.com:8443/", "http://a.com:8443/", *USUAL)),
        ("shop.a.com", ("https://shop.a.com/", "http://shop.a.com/")),
        (
            "www.shop.a.com",
            ("https://shop.a.com/", "http://shop.a.com/", "https://www.shop.a.com/", "http://www.shop.a.com/"),
        ),
        ("a.co.uk", ("https://a.co.uk/", "http://a.co.uk/", "https://www.a.co.uk/", "http://www.a.co.uk/")),
    ],
)
def test_where_a_visit_begins(path: Path, line: str, expected: tuple[str, ...]) -> None:
    assert entries(path, line) == expected


REFUSED = {
    "exa mple": "has a space",
    "a.com b.com": "has a space",
    "http://[::1": "bracket that is not closed",
    "http://[::1]x/": "bracket that is not closed",
    "http://[::zz]/": "characters no domain can have",
    "localhost": "has no dot",
    "intranet": "has no dot",
    "http://localhost:8080/": "has no dot",
    "https://": "has no name",
    "http:///": "has no name",
    "info@a.com": "looks like an e-mail address",
    "mailto:info@a.com": "looks like an e-mail address",
    "ftp://a.com/": "begins with ftp://",
    "javascript://a.com": "begins with javascript://",
    "x" * 64 + ".com": "a part longer than 63",
    ".".join(["x" * 60] * 5): "longer than 253",
    "x." * 3000 + "com": "longer than 253",
    "xn--zzzzzz.com": "broken punycode",
    "xn--a-.com": "broken punycode",
    "xn--.com": "broken punycode",
    "a..com": "a dot too many",
    ".a.com": "a dot too many",
    "*.a.com": "characters no domain can have",
    "a!b.com": "characters no domain can have",
    "exa\x07mple.com": "characters no domain can have",
    "a.com:99999": "impossible port",
    "a.com:0": "impossible port",
    "a.com:http": "impossible port",
    "256.1.1.1": "looks like an IP address",
    "1.5": "is a number",
    "2130706433": "is a number",
    "0x7f.1": "is a number",
    "a.c-": "does not end like a domain",
    "a.1b": "does not end like a domain",
    "http://http://a.com": "has no dot",
}


@pytest.mark.parametrize(("line", "why"), REFUSED.items(), ids=[name[:30] for name in map(ascii, REFUSED)])
def test_what_is_no_domain_is_refused_by_name_and_line(path: Path, line: str, why: str) -> None:
    error = refusal(path, f"good.com\n\n{line}\nbetter.com\n")
    assert error.code == "targets.bad_domain"
    assert error.message.startswith(f"{path}, line 3: ")
    assert why in error.message
    assert "example.com" in error.hint
    assert len(str(error)) < 400


def test_the_first_of_many_bad_lines_is_named_and_the_others_counted(path: Path) -> None:
    assert "4 more entries" in refusal(path, "a.com\n" + "exa mple\n" * 5).message
    assert "1 more entry is no domain either (line 3)." in refusal(path, "a.com\n" + "exa mple\n" * 2).message
    assert "more" not in refusal(path, "a.com\nexa mple\n").message


def test_a_bad_line_is_named_by_its_own_number_below_cells_of_several_lines(path: Path) -> None:
    assert "line 5:" in refusal(path, 'domain,note\na.com,"1\n2\n3"\nexa mple,x\n').message


def test_what_was_found_is_shown_without_its_control_characters(path: Path) -> None:
    assert r'"a\x1b[31mb.com"' in refusal(path, "a\x1b[31mb.com\n").message
    assert r"a\u202eb" in refusal(path, "a\u202eb c\n").message


def test_two_domains_in_one_quoted_cell_are_not_glued_together(path: Path) -> None:
    assert "has a space" in refusal(path, 'domain\n"a.com\nb.com"\n').message


def test_a_single_column_without_a_known_title_is_not_guessed_away(path: Path) -> None:
    assert "line 1:" in refusal(path, "acme\na.com\nb.com\n").message
    assert "line 1:" in refusal(path, "not a domain\na.com\nb.com\n").message


def test_no_file(path: Path) -> None:
    assert refusal(path).code == "targets.not_found"
    assert str(path) in refusal(path).message
    path.write_text("a.com")
    assert refusal(path / "below").code == "targets.not_found"
    assert refusal(Path("no\x00name")).code == "targets.not_found"
    assert refusal(Path("no\nname\ud800")).code == "targets.not_found"
    assert refusal(Path("x" * 5000)).code == "targets.unreadable"


def test_a_folder(tmp_path: Path) -> None:
    assert refusal(tmp_path).code == "targets.is_folder"


@contextmanager
def somebody_else() -> Iterator[None]:
    """Permissions do not hold for root, so become nobody for a moment."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_no_permission(path: Path) -> None:
    path.write_text("a.com")
    path.chmod(0)
    with somebody_else():
        error = refusal(path)
    assert error.code == "targets.unreadable"
    assert "permission" in error.message


@pytest.mark.parametrize(
    "content", ["", "\ufeff", "\n\n", "# only\n\n# comments\n", "domain\n", "domain,country\n", ",,\n,,\n"]
)
def test_nothing_in_it(path: Path, content: str) -> None:
    assert refusal(path, content).code == "targets.empty"


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100), "Excel"),
        (b"PK\x03\x04 word/document.xml", "Word"),
        (b"PK\x03\x04 mimetypeapplication/vnd.oasis.opendocument.spreadsheet", "spreadsheet: save it as CSV"),
        (b"PK\x03\x04 other.txt", "compressed"),
        (b"\x1f\x8b\x08", "compressed"),
        (b"%PDF-1.7\n", "PDF"),
        (b"a.com\n\x00\x00", "NUL"),
        ("a.com\n".encode("utf-16-le"), "NUL"),
        (codecs.BOM_UTF16_LE + b"a\x00.", "damaged"),
        (codecs.BOM_UTF16_LE + b"\x00\xd8a\x00", "damaged"),
        (b"\x89PNG\r\n\x1a\n\x05\xff", "not a text file"),
    ],
)
def test_other_files_that_are_no_lists(path: Path, content: bytes, what: str) -> None:
    error = refusal(path, content)
    assert error.code == "targets.binary"
    assert what in error.message


def test_as_many_as_a_job_takes_and_not_one_more(path: Path) -> None:
    lines = [f"site{number}.example\n" for number in range(MAX_TARGETS)]
    path.write_text("".join(lines) + "www.site7.example\n" * 3)
    found = read_targets(path)
    assert len(found.targets) == MAX_TARGETS
    assert (found.given, found.duplicates) == (MAX_TARGETS + 3, 3)
    error = refusal(path, "domain\n" + "".join(lines) + "one.more.example\n")
    assert error.code == "targets.too_many"
    assert "line 50,002" in error.message
    assert "50,001" in error.message


def test_a_file_beyond_all_measure_is_not_read_to_its_end() -> None:
    assert refusal(Path("/dev/zero")).code == "targets.too_large"


def test_what_is_said_about_duplicates() -> None:
    def sentence(duplicates: int, unique: int) -> str:
        return removed_sentence(TargetList(({},) * unique, duplicates + unique, duplicates))  # type: ignore[arg-type]

    assert sentence(127, 4_873) == "Removed 127 duplicates, processing 4,873 unique domains"
    assert sentence(1, 1) == "Removed 1 duplicate, processing 1 unique domain"
    assert sentence(0, 2) == "Removed 0 duplicates, processing 2 unique domains"
    assert sentence(1_200, 50_000) == "Removed 1,200 duplicates, processing 50,000 unique domains"


WORDS = ["a.com", "http://", "https://b.org/x", "domain", "[::1]", "xn--", "é", "。", "sep=;", "1.5", "exa mple"]
MARKS = [*",;|\"'#@:.%\\ \t\n\r\x00\ufeff", "\r\n"]
PIECES = st.sampled_from(WORDS + MARKS)


@given(
    content=st.binary()
    | st.text().map(lambda text: text.encode("utf-8", "surrogatepass"))
    | st.lists(PIECES).map(lambda p: "".join(p).encode())
)
@example(content=b"\xff\xfe\x00")
@example(content=b'"' * 1000)
@example(content=b"a" * 200_000 + b',"b')
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_at_all_give_targets_or_a_user_error(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    found = outcome(path)
    if isinstance(found, UserError):
        assert found.code.startswith("targets.")
        assert str(found).isprintable()
        return
    assert found.given == len(found.targets) + found.duplicates
    assert len({target.host for target in found.targets}) == len(found.targets) > 0
    for target in found.targets:
        assert [normalise(entry) for entry in target.entries] == list(target.entries)


@given(text=st.text(max_size=80) | st.lists(PIECES, max_size=6).map("".join))
@settings(deadline=None)
def test_reading_what_was_read_changes_nothing(text: str) -> None:
    domain = read_domain(clean(text))
    if isinstance(domain, BadEntry):
        assert domain.why
        return
    assert read_domain(domain.host) == Domain(domain.host)


def test_a_forgotten_colon_is_named(path: Path) -> None:
    assert refusal(path, "https//oops.example\n").message.endswith("is not a domain: it has no colon after https.")
    assert refusal(path, "HTTP/oops.example\n").message.endswith("is not a domain: it has no colon after http.")
    assert hosts(path, "http:oops.example\nhttps.example\n") == ["oops.example", "https.example"]


def test_single_domains_come_after_the_list_and_are_compared_with_it(path: Path) -> None:
    path.write_text("a.com\nb.org\n")
    found = read_targets(path, ["https://www.b.org/x", "c.net", "c.net"])
    assert [target.host for target in found.targets] == ["a.com", "b.org", "c.net"]
    assert (found.given, found.duplicates) == (5, 2)
    assert [target.host for target in read_targets(None, ["c.net"]).targets] == ["c.net"]


def test_no_list_and_a_bad_single_domain_are_refused() -> None:
    with pytest.raises(UserError, match="No domains were given") as refused:
        read_targets(None)
    assert refused.value.code == "targets.missing"
    with pytest.raises(UserError, match=r'--domain: "not one" is not a domain: it has a space in it'):
        read_targets(None, ["not one"], skip_invalid=True)


def test_invalid_lines_are_skipped_only_if_asked(path: Path) -> None:
    path.write_text("domain\na.com\nhttps//oops.example\na.com\nlocalhost\n")
    found = read_targets(path, skip_invalid=True)
    assert [target.host for target in found.targets] == ["a.com"]
    assert (found.given, found.duplicates) == (2, 1)
    assert [(one.line, one.text) for one in found.skipped] == [(3, "https//oops.example"), (5, "localhost")]
    assert found.skipped[0].reason == "has no colon after https"
    assert refusal(path).code == "targets.bad_domain"


def test_a_list_without_a_valid_line_is_an_error_all_the_same(path: Path) -> None:
    path.write_text("localhost\nnonsense\n")
    with pytest.raises(UserError, match="no valid domain in it: all 2 lines would be skipped") as refused:
        read_targets(path, skip_invalid=True)
    assert refused.value.code == "targets.none_valid"


@pytest.mark.parametrize("skip", [False, True])
def test_a_table_without_domains_is_told_by_its_columns(tmp_path: Path, skip: bool) -> None:
    path = tmp_path / "nodomain.csv"
    path.write_text("Firma,Ort\nAcme,Berlin\nOther,Bonn\n")
    with pytest.raises(UserError) as refused:
        read_targets(path, skip_invalid=skip)
    assert refused.value.message == f'{path} has no column of domains: its columns are "Firma", "Ort".'
    assert "--skip-invalid" not in refused.value.hint


@pytest.mark.parametrize("typed", ["a.test,b.test", "a.test, b.test,", "a.test;b.test", "a.test b.test"])
def test_several_domains_in_one_option_are_a_list_on_a_single_line(typed: str) -> None:
    found = read_targets(None, [typed, "b.test"])
    assert [target.host for target in found.targets] == ["a.test", "b.test"]
    assert (found.given, found.duplicates) == (3, 1)


def test_an_address_with_a_comma_is_one_domain() -> None:
    assert [target.host for target in read_targets(None, ["https://a.test/b,c.test"]).targets] == ["a.test"]


def test_the_wrong_one_of_several_domains_is_named() -> None:
    with pytest.raises(UserError, match=r'^--domain: "nonsense" is not a domain: it has no dot'):
        read_targets(None, ["a.test,nonsense"])


def test_a_broken_workbook_is_called_one(tmp_path: Path) -> None:
    for name, content in (("a.xlsx", b"PK\x03\x04 broken"), ("b", b"PK\x03\x04 [Content_Types].xml broken")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(
            UserError, match="is a workbook that cannot be read: it is damaged or not complete"
        ) as error:
            read_targets(tmp_path / name)
        assert "Excel workbook (.xlsx)" in error.value.hint
