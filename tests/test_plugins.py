"""GOSSAMER_PLUGINS: what it adds, and what is said of what it cannot add."""

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from gossamer import plugins
from gossamer.app import open_app, open_deps
from gossamer.errors import UserError
from gossamer.model.registry import Registry, registry_of
from gossamer.model.rungs import RUNGS
from gossamer.plugins import load_plugins
from gossamer.settings import Settings, read_settings
from gossamer.settings import fields as setting_fields

MODULE = """
from contextlib import asynccontextmanager
from datetime import timedelta
from gossamer.model.rungs import Form, Lane, Rung, RungSetting

SIZE = RungSetting("own_size", Form.NUMBER, "How large it is", "a whole number above 0", default=3)
OWN = Rung("own", Lane.HTTP, opener="plug_ins.ways:open_own", own_settings=(SIZE,))
LOST = Rung("lost", Lane.HTTP, opener="plug_ins.ways:nothing")
GREEDY = Rung("greedy", Lane.HTTP, own_settings=(RungSetting("home", Form.KEY, "A key", "a key"),))
seen = []

@asynccontextmanager
async def open_own(tools):
    seen.append(tools.settings)
    yield tools.direct.session
    seen.append("closed")

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
    monkeypatch.setattr(setting_fields, "_added", dict(setting_fields._added))
    fields = dict(Settings.model_fields)
    yield tmp_path
    Settings.model_fields.clear()
    Settings.model_fields.update(fields)
    Settings.model_rebuild(force=True)
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


async def test_a_rung_of_our_own_is_opened_with_its_settings_and_closed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_PLUGINS", "plug_ins.ways:OWN")
    monkeypatch.setenv("GOSSAMER_OWN_SIZE", "7")
    monkeypatch.setenv("GOSSAMER_HOME", str(folder / "home"))
    settings, unknown = read_settings()
    assert not unknown
    async with open_app(settings) as app, open_deps(settings, 1) as deps:
        app.check()
        assert app.rungs == ("direct", "own")
        assert deps.rungs["own"].rung is RUNGS["own"]
        session = deps.open_session("own", 1)
        await session.close()
    assert sys.modules["plug_ins.ways"].seen == [{"own_size": 7}, "closed"]


async def test_a_rung_whose_code_is_not_there_is_refused_before_anything_begins(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_PLUGINS", "plug_ins.ways:LOST")
    monkeypatch.setenv("GOSSAMER_HOME", str(folder / "home"))
    async with open_app(read_settings()[0]) as app:
        with pytest.raises(UserError, match=r"The method lost cannot be used: 'plug_ins\.ways:nothing' was not found"):
            app.check()


def test_a_rung_takes_no_setting_from_others(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_PLUGINS", "plug_ins.ways:GREEDY")
    with pytest.raises(UserError) as caught:
        read_settings()
    assert caught.value.code == "plugins.setting"
    assert "home" in caught.value.message


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
