"""Domains that a job leaves alone."""

from pathlib import Path

import pytest

from gossamer.errors import UserError
from gossamer.intake.targets import MAX_TARGETS, TargetList, leave_out, left_out_sentence, read_exclusions, read_targets
from gossamer.model.url import is_covered


def write(folder: Path, name: str, *lines: str) -> Path:
    path = folder / name
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def left(folder: Path, domains: list[str], excluded: list[str]) -> tuple[TargetList, TargetList, Path]:
    listed, path = read_targets(write(folder, "domains.txt", *domains)), write(folder, "suppress.txt", *excluded)
    return listed, leave_out(listed, read_exclusions(path), path), path


@pytest.mark.parametrize(
    ("site", "listed", "excluded"),
    [
        ("acme.com", "acme.com", True),
        ("acme.com", "www.acme.com", True),
        ("blog.acme.com", "acme.com", True),
        ("deep.blog.acme.com", "https://www.acme.com/shop", True),
        ("shop.acme.co.uk", "acme.co.uk", True),
        ("acme.com", "blog.acme.com", False),
        ("deep.blog.acme.com", "blog.acme.com", False),
        ("not-acme.com", "acme.com", False),
        ("acme.com.example", "acme.com", False),
        ("one.blogspot.com", "two.blogspot.com", False),
        ("10.0.0.1", "10.0.0.1", True),
    ],
)
def test_a_registrable_domain_covers_all_its_subdomains(tmp_path: Path, site: str, listed: str, excluded: bool) -> None:
    assert is_covered(site, read_exclusions(write(tmp_path, "suppress.txt", listed))) is excluded


def test_what_is_left_keeps_its_order_and_the_rest_is_counted_aloud(tmp_path: Path) -> None:
    listed, rest, path = left(tmp_path, ["c.com", "www.a.com", "b.com", "x.b.com"], ["domain,why", "b.com,client"])
    assert [target.host for target in rest.targets] == ["c.com", "a.com"]
    assert left_out_sentence(listed, rest, path) == "Left out 2 domains of suppress.txt"
    listed, rest, path = left(tmp_path, ["a.com", "b.com"], ["b.com"])
    assert left_out_sentence(listed, rest, path) == "Left out 1 domain of suppress.txt"
    listed, rest, path = left(tmp_path, ["a.com", "b.com"], ["z.com"])
    assert left_out_sentence(listed, rest, path) == "Left out 0 domains of suppress.txt"


def test_duplicates_in_the_list_are_still_told(tmp_path: Path) -> None:
    _, rest, _ = left(tmp_path, ["a.com", "www.a.com", "b.com"], ["b.com"])
    assert (len(rest.targets), rest.duplicates) == (1, 1)


def test_a_job_without_domains_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"suppress\.txt") as refused:
        left(tmp_path, ["a.com", "blog.a.com"], ["a.com"])
    assert refused.value.code == "targets.all_excluded"


def test_a_suppression_list_may_be_longer_than_a_job(tmp_path: Path) -> None:
    path = write(tmp_path, "suppress.txt", *(f"a{number}.com" for number in range(MAX_TARGETS + 2)))
    assert len(read_exclusions(path)) == MAX_TARGETS + 2
    with pytest.raises(UserError, match="line 50,001"):
        read_targets(path)


def test_a_bad_line_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"suppress\.txt, line 2") as refused:
        left(tmp_path, ["a.com"], ["b.com", "info@b.com"])
    assert refused.value.code == "targets.bad_domain"
