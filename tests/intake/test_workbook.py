"""Lists in Excel workbooks: read like tables, and refused in a sentence where they cannot or should not be."""

import io
import subprocess
import sys
import tracemalloc
import zipfile
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import openpyxl
import pytest

from gossamer.errors import UserError
from gossamer.intake import textfile
from gossamer.intake.addresses import read_address_file
from gossamer.intake.keywords import read_keywords
from gossamer.intake.targets import read_targets


def write(path: Path, *rows: Sequence[object], second: Sequence[Sequence[object]] = ()) -> Path:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in rows:
        sheet.append(list(row))
    if second:
        other = book.create_sheet("second")
        for row in second:
            other.append(list(row))
    book.save(path)
    return path


def hosts(path: Path) -> list[str]:
    return [target.host for target in read_targets(path).targets]


@pytest.mark.parametrize(
    "rows",
    [
        [["a.com"], ["b.org"]],
        [["Domain"], ["a.com"], ["b.org"]],
        [["Company", "Website", "Since"], ["Acme", "https://a.com/x", date(2020, 1, 1)], ["Bee", "www.b.org", 4]],
        [["Company", "Website"], ["x.net", None], ["Acme", "a.com"], ["Bee", "b.org"]],
        [["Acme", 12, "a.com"], ["Bee", 13.5, "b.org"]],
        [[], ["# remark"], ["a.com"], [], ["b.org"], ["a.com"]],
    ],
    ids=["bare", "header", "named column", "row without a website", "unnamed column", "blank rows and remarks"],
)
def test_the_first_sheet_is_read_by_the_rules_of_tables(tmp_path: Path, rows: list[list[object]]) -> None:
    assert hosts(write(tmp_path / "list.xlsx", *rows, second=[["not-this.com"]])) == ["a.com", "b.org"]


def test_what_a_file_is_called_does_not_matter(tmp_path: Path) -> None:
    assert hosts(write(tmp_path / "list.xlsx", ["a.com"]).rename(tmp_path / "list.csv")) == ["a.com"]


def test_a_bad_row_is_named_by_its_number(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"list\.xlsx, line 3: \"nonsense\" is not a domain"):
        read_targets(write(tmp_path / "list.xlsx", ["domain"], ["a.com"], ["nonsense"]))


def test_keywords_and_addresses_too(tmp_path: Path) -> None:
    words = write(tmp_path / "w.xlsx", ["Language", "Keyword"], ["en", "CRM"], ["en", 42], ["de", "CRM"], ["de", None])
    loaded = read_keywords(words)
    assert (loaded.keywords, loaded.duplicates) == (("CRM", "42"), 1)
    untitled = write(tmp_path / "u.xlsx", ["sales pipeline"], ["CRM, or not"])
    assert read_keywords(untitled).keywords == ("sales pipeline", "CRM, or not")
    pages = write(tmp_path / "p.xlsx", ["url"], ["https://a.com/x"])
    assert read_address_file(pages).urls == ("https://a.com/x",)


def test_an_empty_workbook_has_no_domains(tmp_path: Path) -> None:
    with pytest.raises(UserError) as refused:
        read_targets(write(tmp_path / "list.xlsx"))
    assert refused.value.code == "targets.empty"


def archive(parts: dict[str, bytes]) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in parts.items():
            packed.writestr(name, content)
    return raw.getvalue()


def refusal(path: Path, raw: bytes) -> UserError:
    path.write_bytes(raw)
    with pytest.raises(UserError) as refused:
        read_targets(path)
    assert refused.value.hint
    assert str(refused.value).isprintable()
    return refused.value


def test_a_damaged_workbook_is_refused(tmp_path: Path) -> None:
    whole = write(tmp_path / "list.xlsx", ["a.com"]).read_bytes()
    for raw in (
        archive({"[Content_Types].xml": b"<Types/>", "xl/workbook.xml": b"<workbook/>"}),
        archive({"[Content_Types].xml": b"<Types", "xl/workbook.xml": b"not xml"}),
        whole[:-30],
        b"PK\x03\x04 xl/workbook.xml",
    ):
        assert "cannot be read: it is damaged" in refusal(tmp_path / "bad.xlsx", raw).message


def test_an_encrypted_workbook_is_refused(tmp_path: Path) -> None:
    raw = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500) + "EncryptedPackage".encode("utf-16-le") + bytes(100)
    assert "protected by a password" in refusal(tmp_path / "list.xlsx", raw).message


def test_a_workbook_that_unpacks_to_too_much_is_refused_without_unpacking_it(tmp_path: Path) -> None:
    raw = archive({"xl/workbook.xml": b"<workbook/>", "xl/worksheets/sheet1.xml": bytes(textfile.MAX_UNPACKED + 1)})
    assert len(raw) < 1_000_000
    tracemalloc.start()
    try:
        error = refusal(tmp_path / "bomb.xlsx", raw)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert error.code == "targets.too_large"
    assert "larger than 100 MB when unpacked" in error.message
    assert most < 150_000_000  # reading a file sets 100 MB aside; the parts would come on top


def test_a_workbook_over_ten_megabytes_is_refused(tmp_path: Path) -> None:
    raw = archive({"xl/workbook.xml": b"<workbook/>"})
    error = refusal(tmp_path / "large.xlsx", raw + bytes(textfile.MAX_PACKED))
    assert "more than 10 MB" in error.message


def test_one_long_text_in_many_cells_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(textfile, "MAX_TEXT", 10_000)
    path = write(tmp_path / "list.xlsx", *([["x" * 1_000]] * 20))
    assert "more text in its cells" in refusal(path, path.read_bytes()).message


def test_a_hidden_sheet_is_not_the_first(tmp_path: Path) -> None:
    book = openpyxl.load_workbook(write(tmp_path / "list.xlsx", ["not-this.com"], second=[["a.com"]]))
    book.worksheets[0].sheet_state = "hidden"
    book.save(tmp_path / "list.xlsx")
    assert hosts(tmp_path / "list.xlsx") == ["a.com"]


@pytest.mark.parametrize("cell", ['="a"&".com"', "#N/A", "#REF!", "#NAME?", "#DIV/0!"])
def test_a_formula_without_a_result_is_not_passed_over(tmp_path: Path, cell: str) -> None:
    path = write(tmp_path / "list.xlsx", ["Domain"], ["b.org"], [cell], ["c.net"])
    why = "is a formula without a result" if cell[0] == "=" else "is an error of the workbook's formula"
    with pytest.raises(UserError, match=rf"list\.xlsx, line 3: .* is not a domain: it {why}"):
        read_targets(path)
    with pytest.raises(UserError, match=rf"list\.xlsx, line 3: .* {why}"):
        read_keywords(path)
    with pytest.raises(UserError, match=rf"list\.xlsx, line 3: .* is not a web address: it {why}"):
        read_address_file(path)
    skipping = read_targets(path, skip_invalid=True)
    assert ([target.host for target in skipping.targets], len(skipping.skipped)) == (["b.org", "c.net"], 1)


def test_formulas_with_results_and_beside_the_list_are_no_trouble(tmp_path: Path) -> None:
    assert hosts(write(tmp_path / "list.xlsx", ["Domain", "Length"], ["b.org", "=LEN(A2)"])) == ["b.org"]
    path = write(tmp_path / "list.xlsx", ["Domain"], ['="a"&".com"'], ['=IF(1,"","")'], ["c.net"])
    sheet = "xl/worksheets/sheet1.xml"
    with zipfile.ZipFile(path) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    parts[sheet] = parts[sheet].replace(b'<c r="A2"', b'<c t="str" r="A2"').replace(b"<v />", b"<v>a.com</v>", 1)
    parts[sheet] = parts[sheet].replace(b'<c r="A3"', b'<c r="A3" t="str"')
    with zipfile.ZipFile(path, "w") as new:
        for name, data in parts.items():
            new.writestr(name, data)
    assert hosts(path) == ["a.com", "c.net"]


def test_a_cell_far_to_the_right_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "wide.xlsx"
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in range(1, 2_000):
        sheet.cell(row, 1, f"d{row}.com")
        sheet.cell(row, 16_384, "far away")
    book.save(path)
    rows = textfile.read_rows(path.read_bytes(), path, "targets")
    assert max(map(len, rows)) == 1
    assert len(hosts(path)) == 1_999


def test_the_library_is_loaded_for_workbooks_only(tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    path.write_text("a.com\n")
    code = (
        "import sys\nfrom pathlib import Path\nfrom gossamer.intake.targets import read_targets\n"
        f"read_targets(Path({str(path)!r}))\nprint('openpyxl' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
