"""Keyword lists as people write them, and what is said about those that cannot be used."""

import codecs
import unicodedata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.errors import UserError
from gossamer.intake.keywords import KeywordList, loaded_sentence, matching_sentence, read_keywords


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keywords.txt"


def keywords(path: Path, content: str | bytes) -> list[str]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(read_keywords(path).keywords)


def refusal(path: Path, content: str | bytes | None = None) -> UserError:
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(UserError) as caught:
        read_keywords(path)
    assert str(caught.value).isprintable(), "one line, nothing that moves the cursor"
    assert caught.value.hint
    return caught.value


def outcome(path: Path) -> KeywordList | UserError:
    try:
        return read_keywords(path)
    except UserError as error:
        return error


SHAPES = {
    "bare lines": "crm\nlink building\n",
    "no newline at the end": "crm\nlink building",
    "windows": "crm\r\nlink building\r\n",
    "old mac": "crm\rlink building\r",
    "empty lines": "\n\ncrm\n\nlink building\n\n",
    "comments": "# mine\n#\ncrm\n  # more\nlink building\n",
    "white space": "  crm\t\n link \t  building \n",
    "no-break spaces": "crm\nlink\u00a0building\n",
    "a mark": "\ufeffcrm\nlink building\n",
    "quoted": '"crm"\n"link building"\n',
    "quoted with commas behind": '"crm",\n"link building";\n',
    "soft hyphens and zero-width spaces": "c\u00adrm\nlink\u200b building\n",
    "ctrl-z at the end": "crm\nlink building\n\x1a",
}


@pytest.mark.parametrize("content", SHAPES.values(), ids=SHAPES.keys())
def test_the_same_two_keywords_in_every_shape(path: Path, content: str) -> None:
    assert keywords(path, content) == ["crm", "link building"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_every_encoding_an_editor_may_choose(path: Path, encoding: str) -> None:
    assert keywords(path, "café\nnaïve bäcker\n".encode(encoding)) == ["café", "naïve bäcker"]


def test_a_hashtag_is_a_keyword(path: Path) -> None:
    assert keywords(path, "#crm\n# crm\n#\n") == ["#crm"]


def test_a_keyword_stays_as_it_is_written(path: Path) -> None:
    content = 'C++\nR&D\ntea, coffee\n"5"" screens"\nsay "hi"\n日本語 検索\n.net\n'
    assert keywords(path, content) == ["C++", "R&D", "tea, coffee", '5" screens', 'say "hi"', "日本語 検索", ".net"]


def test_duplicates_differ_in_capitals_spaces_or_spelling_of_letters_only(path: Path) -> None:
    decomposed = unicodedata.normalize("NFD", "café")
    path.write_text(f"Café\ncafé\nCAFÉ\n{decomposed}\nlink  Building\nlink building\nSTRASSE\nstraße\n")
    found = read_keywords(path)
    assert found.keywords == ("Café", "link Building", "STRASSE")
    assert found.duplicates == 5


def test_a_spreadsheet_column_brings_its_title(tmp_path: Path) -> None:
    assert keywords(tmp_path / "k.csv", '"Keyword"\n"crm"\n') == ["crm"]
    assert keywords(tmp_path / "k.csv", "crm\nkeyword\n") == ["crm", "keyword"]
    assert keywords(tmp_path / "k.txt", "crm\nkeyword\n") == ["crm", "keyword"]


@pytest.mark.parametrize("line", [" ", "   ", "\t", "\u00a0", "\u3000", '" "', '""', "\u200b"])
def test_a_keyword_of_only_spaces_is_refused_by_line(path: Path, line: str) -> None:
    error = refusal(path, f"crm\n\n{line}\nseo\n")
    assert error.code == "keywords.bad_keyword"
    assert error.message.startswith(f"{path}, line 3: ")
    assert "only spaces" in error.message
    assert "delete the line" in error.hint


def test_too_long_a_keyword(path: Path) -> None:
    assert keywords(path, "k" * 200) == ["k" * 200]
    error = refusal(path, "crm\n" + "k" * 201)
    assert error.code == "keywords.bad_keyword"
    assert "line 2" in error.message
    assert "200 characters" in error.message
    assert len(str(error)) < 400
    assert "200 characters" in refusal(path, '"' * 3_000_000).message


def test_control_characters(path: Path) -> None:
    assert r"\x07" in refusal(path, "cr\x07m\n").message


def test_the_first_of_many_bad_lines_is_named_and_the_others_counted(path: Path) -> None:
    assert "line 1:" in refusal(path, " \n" * 3 + "crm").message
    assert "2 more lines" in refusal(path, " \n" * 3 + "crm").message
    assert "1 more line " in refusal(path, " \n" * 2 + "crm").message


def test_as_many_as_a_job_takes_and_not_one_more(path: Path) -> None:
    lines = [f"keyword {number}\n" for number in range(500)]
    path.write_text("".join(lines * 2))
    assert len(read_keywords(path).keywords) == read_keywords(path).duplicates == 500
    error = refusal(path, "".join([*lines, "one more"]))
    assert error.code == "keywords.too_many"
    assert "501" in error.message


@pytest.mark.parametrize("content", ["", "\n\n", "# only\n# comments\n", "\ufeff"])
def test_nothing_in_it(path: Path, content: str) -> None:
    assert refusal(path, content).code == "keywords.empty"


def test_no_file_a_folder_and_no_text(path: Path, tmp_path: Path) -> None:
    assert refusal(path).code == "keywords.not_found"
    assert refusal(tmp_path).code == "keywords.is_folder"
    assert refusal(path, b"PK\x03\x04 word/document.xml").code == "keywords.binary"
    assert refusal(path, b"crm\x00").code == "keywords.binary"
    assert refusal(path, codecs.BOM_UTF16_LE + b"a").code == "keywords.binary"


def test_what_is_said_about_a_list() -> None:
    def sentence(count: int) -> str:
        return loaded_sentence(KeywordList(("k",) * count, 0), Path("some/where/keywords.txt"))

    assert sentence(23) == "Loaded 23 keywords from keywords.txt"
    assert sentence(1) == "Loaded 1 keyword from keywords.txt"
    assert loaded_sentence(KeywordList(("k",), 0), Path("a\nb.txt")) == r"Loaded 1 keyword from a\nb.txt"


@given(content=st.binary() | st.text().map(lambda text: text.encode("utf-8", "surrogatepass")))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_at_all_give_keywords_or_a_user_error(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    found = outcome(path)
    if isinstance(found, UserError):
        assert found.code.startswith("keywords.")
        assert str(found).isprintable()
        return
    assert found.keywords
    assert len({keyword.casefold() for keyword in found.keywords}) == len(found.keywords)
    for keyword in found.keywords:
        assert keyword == " ".join(keyword.split()) == unicodedata.normalize("NFC", keyword)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("k.csv", "Keyword,Volume\ncrm,1000\nsales pipeline,20\n", ("crm", "sales pipeline")),
        ("k.csv", "Volume;Keyword\n1000;crm\n20;erp\n", ("crm", "erp")),
        ("k.csv", "crm,1000\nerp,20\n", ("crm", "erp")),
        ("k.csv", '"Acme, Inc.",3\ncrm,1\n', ("Acme, Inc.", "crm")),
        ("k.tsv", "keyword\tvolume\ncrm\t9\n", ("crm",)),
        ("k.txt", "Keyword,Volume\ncrm,1000\n", ("crm",)),
        ("k.txt", "crm, sales, pipeline\n", ("crm", "sales", "pipeline")),
        ("k.txt", "Acme, Inc.\ncrm\n", ("Acme, Inc.", "crm")),
        ("k.txt", "keyword\ncrm\n", ("crm",)),
    ],
)
def test_tables_and_lists_on_one_line_are_understood(
    tmp_path: Path, name: str, text: str, expected: tuple[str, ...]
) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert read_keywords(path).keywords == expected


def test_the_heading_of_a_text_file_is_left_out_aloud(tmp_path: Path) -> None:
    path = tmp_path / "k.txt"
    path.write_text("# ours\nKeywords:\ncrm\nkeywords\n")
    loaded = read_keywords(path)
    assert loaded == KeywordList(("crm", "keywords"), 0, "Keywords:")
    assert loaded_sentence(loaded, path) == (
        'Loaded 2 keywords from k.txt. Its first line, "Keywords:", is taken for a heading; '
        "as a keyword, put it further down"
    )


@pytest.mark.parametrize("text", ["keyword\n", "query\ncrm\n", "keyword research\ncrm\n"])
def test_what_may_be_a_keyword_is_one(tmp_path: Path, text: str) -> None:
    path = tmp_path / "k.txt"
    path.write_text(text)
    assert read_keywords(path) == KeywordList(tuple(text.split("\n")[:-1]), 0)


@pytest.mark.parametrize(
    ("line", "keyword"),
    [
        ("“CRM software”", "CRM software"),
        ("„CRM software“", "CRM software"),
        ("«CRM software»,", "CRM software"),
        ("»CRM software«", "CRM software"),
        ("‘CRM software’", "CRM software"),
        ("‘Men’s shoes’", "Men’s shoes"),
        ("‹CRM›;", "CRM"),
        ("“CRM” and “ERP”", "“CRM” and “ERP”"),
        ("5“ pipe", "5“ pipe"),
        ("O’Neil", "O’Neil"),
    ],
)
def test_smart_quotes_round_a_keyword_are_quotes(path: Path, line: str, keyword: str) -> None:
    path.write_text(f"{line}\nother\n")
    assert read_keywords(path).keywords == (keyword, "other")
    assert read_keywords(None, [line]).keywords == (keyword,)


def test_capitals_tell_keywords_apart_where_that_is_wanted(path: Path) -> None:
    path.write_text("IT\nit\nIT\n")
    assert read_keywords(path).keywords == ("IT",)
    told = read_keywords(path, case_sensitive=True)
    assert (told.keywords, told.duplicates) == (("IT", "it"), 1)


def test_what_a_mention_is_is_said() -> None:
    assert matching_sentence(case_sensitive=False, plurals=False) == "Whole words only, in any case"
    assert (
        matching_sentence(case_sensitive=True, plurals=True)
        == "Whole words only, in exactly this case, singular and plural"
    )


def test_a_table_without_a_title_says_which_column_was_taken(tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    path.write_text("Product,Price\nlamp,5\nchair,7\ntable,9\n")
    loaded = read_keywords(path)
    said = loaded_sentence(loaded, path)
    assert said == (
        "Loaded 4 keywords from list.csv, column 1 (Product, lamp, chair, ...): no column is called 'keyword'"
    )
    path.write_text("keyword,Price\nlamp,5\n")
    assert loaded_sentence(read_keywords(path), path) == "Loaded 1 keyword from list.csv"
    path.write_text("lamp\nchair\n")
    assert loaded_sentence(read_keywords(path), path) == "Loaded 2 keywords from list.csv"


def test_a_table_of_sites_is_no_list_of_keywords(tmp_path: Path) -> None:
    error = refusal(tmp_path / "list.csv", "Company,Website,Owner\nCo 1,a.test,Ann\n")
    assert error.code == "keywords.no_column"
    assert 'its columns are "Company", "Website", "Owner"' in error.message


def test_an_empty_keyword_is_called_empty() -> None:
    with pytest.raises(UserError, match=r"^--keyword is empty"):
        read_keywords(None, [""])
    with pytest.raises(UserError, match='--keyword: " " holds only spaces'):
        read_keywords(None, [" "])


ONE_LINE = {
    "a,b": ["a", "b"],
    "a, b ,c,": ["a", "b", "c"],
    "a;b": ["a", "b"],
    "Paris, France;Rome;Bonn": ["Paris, France", "Rome", "Bonn"],
    '"Paris, France"': ["Paris, France"],
    "\u201cParis, France\u201d": ["Paris, France"],
    '"Paris, France", Rome': ["Paris, France", "Rome"],
    'Rome, "Paris; France; Europe"': ["Rome", "Paris; France; Europe"],
    '19" rack, 24" rack': ['19" rack', '24" rack'],
    '"Paris, France" hotels': ['"Paris, France" hotels'],
    "sales pipeline": ["sales pipeline"],
    "C++": ["C++"],
}


@pytest.mark.parametrize(("text", "expected"), ONE_LINE.items())
def test_a_keyword_on_the_command_line_is_read_as_a_list_on_a_single_line(
    path: Path, text: str, expected: list[str]
) -> None:
    assert list(read_keywords(None, [text]).keywords) == expected
    assert keywords(path, text) == expected


def test_it_is_said_when_one_option_is_several_keywords() -> None:
    said = loaded_sentence(read_keywords(None, ["crm", "Paris, France"]), None)
    assert said == (
        'Loaded 3 keywords. "Paris, France" is read as 2 keywords; to have it as one, write '
        "--keyword '\"Paris, France\"'"
    )
    assert loaded_sentence(read_keywords(None, ["crm", '"Paris, France", Rome']), None) == "Loaded 3 keywords"


def test_a_keyword_of_commas_alone_is_refused() -> None:
    with pytest.raises(UserError, match='--keyword: "," holds only commas or the like'):
        read_keywords(None, [","])
