"""`make demo` empties its folder, and never what somebody made in it."""

from pathlib import Path

import pytest

from gossamer_sandbox.demo import NAME, make_room
from tests.stories.program import Terminal


def _home_with(folder: Path, *names: str) -> None:
    terminal = Terminal(folder / "home")
    for name in names:
        made = terminal.type(
            "job", "run", "--name", name, "--domain", "a.example", "--keyword", "CRM", "--no-auto-start"
        )
        assert made.returncode == 0, made.stderr


@pytest.mark.parametrize("names", [("Mine",), (NAME, "Mine"), (NAME, NAME)])
def test_a_folder_with_other_jobs_is_moved_aside(tmp_path: Path, names: tuple[str, ...]) -> None:
    folder = tmp_path / "demo-output"
    _home_with(folder, *names)
    (tmp_path / "demo-output-1").mkdir()
    said = make_room(folder)
    kept = tmp_path / "demo-output-2"
    assert said == f"There are jobs of your own in {folder}: it was moved to {kept}.\n"
    assert list(folder.iterdir()) == []
    listed = Terminal(kept / "home").ask("job", "list")
    assert sorted(job["name"] for job in listed) == sorted(names)


def test_a_folder_of_the_demo_alone_is_emptied(tmp_path: Path) -> None:
    folder = tmp_path / "demo-output"
    _home_with(folder, NAME)
    assert make_room(folder) == ""
    assert list(tmp_path.iterdir()) == [folder]
    assert list(folder.iterdir()) == []
    assert make_room(tmp_path / "first") == ""
    assert (tmp_path / "first").is_dir()


def test_a_folder_that_cannot_be_read_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "demo-output"
    (folder / "home").mkdir(parents=True)
    (folder / "home" / "gossamer.db").write_bytes(b"no database at all" * 100)
    assert "demo-output-1" in make_room(folder)
    assert (tmp_path / "demo-output-1" / "home" / "gossamer.db").exists()
