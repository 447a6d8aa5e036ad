"""GOSSAMER_PLUGINS: what it adds, and what is said of what it cannot add."""

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from gossamer import plugins
from gossamer.errors import UserError
from gossamer.model.registry import Registry, registry_of
from gossamer.model.rungs import RUNGS
from gossamer.plugins import load_plugins
from gossamer.settings import Settings, read_settings

MODULE = """
from datetime import timedelta
from gossamer.model.rungs import Lane, Rung

ONE = Rung("one", Lane.HTTP, timeout=timedelta(seconds=7))
OTHER = Rung("other", Lane.HTTP)
TAKEN = Rung("stealth", Lane.STEALTH)
NUMBER = 5
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of modules on the path; what was added from it is gone afterwards."""
    (tmp_path / "plug_ins").mkdir()
    (tmp_path / "plug_ins" / "__init__.py").touch()
    (tmp_path / "plug_ins" / "ways.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(RUNGS, "_values", dict(RUNGS))
    monkeypatch.setattr(plugins, "_loaded", set())
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] in ("plug_ins", "broken", "needy")]:
        del sys.modules[name]


@pytest.mark.parametrize("text", ["plug_ins.ways:ONE,plug_ins.ways:OTHER", " plug_ins.ways:ONE , plug_ins.ways:OTHER,"])
def test_values_are_added_once_in_their_order(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    before = list(RUNGS)
    monkeypatch.setenv("GOSSAMER_PLUGINS", text)
    load_plugins()
    load_plugins()
    assert list(RUNGS) == [*before, "one", "other"]
    assert RUNGS["one"].timeout == timedelta(seconds=7)


def test_settings_are_checked_against_what_plug_ins_add(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_PLUGINS", "plug_ins.ways:ONE")
    monkeypatch.setenv("GOSSAMER_PRICES", "one=3")
    settings, unknown = read_settings()
    assert settings.prices == {"one": {"worst": 3}}
    assert not unknown


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("plug_ins.ways", "has 'plug_ins.ways', expected module:VALUE such as my_rungs:TOY."),
        ("plug_ins/ways.py:ONE", "has 'plug_ins/ways.py:ONE', expected module:VALUE such as my_rungs:TOY."),
        ("plug_ins.ways:", "has 'plug_ins.ways:', expected module:VALUE such as my_rungs:TOY."),
        ("plug_ins.none:ONE", "names plug_ins.none:ONE, and there is no module plug_ins.none."),
        ("plug_outs.ways:ONE", "names plug_outs.ways:ONE, and there is no module plug_outs.ways."),
        ("plug_ins.ways:TWO", "names plug_ins.ways:TWO, and the module has no TWO."),
        ("plug_ins.ways:NUMBER", "names plug_ins.ways:NUMBER, a value of type int, expected a rung or a recipe."),
        ("plug_ins.ways:TAKEN", "names plug_ins.ways:TAKEN, and there is a rung 'stealth' already."),
        ("broken:ONE", "names broken:ONE, whose module cannot be imported: ZeroDivisionError: division by zero."),
        ("needy:ONE", "names needy:ONE, whose module cannot be imported: ModuleNotFoundError: No module named 'void'."),
    ],
)
def test_what_cannot_be_added_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str) -> None:
    (folder / "broken.py").write_text("1 / 0")
    (folder / "needy.py").write_text("import void")
    before = list(RUNGS)
    monkeypatch.setenv("GOSSAMER_PLUGINS", text)
    with pytest.raises(UserError) as caught:
        load_plugins()
    assert (caught.value.code, caught.value.message) == ("plugins.unusable", f"GOSSAMER_PLUGINS {said}")
    assert caught.value.hint
    assert list(RUNGS) == before


def test_a_file_names_no_plug_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "gossamer.toml").write_text('plugins = "plug_ins.ways:ONE"\n')
    monkeypatch.setenv("GOSSAMER_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as caught:
        Settings()
    assert caught.value.code == "settings.not_in_a_file"


def test_a_command_says_which_plug_in_cannot_be_added(folder: Path) -> None:
    environ = {
        **os.environ,
        "GOSSAMER_PLUGINS": "plug_ins.ways:ONE,plug_ins.ways:TWO",
        "PYTHONPATH": str(folder),
        "GOSSAMER_HOME": str(folder),
    }
    done = subprocess.run(
        [sys.executable, "-m", "gossamer", "job", "list"], env=environ, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: GOSSAMER_PLUGINS names plug_ins.ways:TWO, and the module has no TWO.")


def test_only_types_with_a_registry_can_be_added() -> None:
    class Thing:
        name = "thing"

    assert registry_of(Thing()) is None
    things = Registry("thing", Thing)
    assert registry_of(Thing()) is things
    things.add(Thing())
    assert list(things) == ["thing"]
    with pytest.raises(ValueError, match="there is a thing 'thing' already"):
        things.add(Thing())
