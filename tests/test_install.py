"""A newcomer's ways to install: each in an empty home, and the program then answers by its name."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LONGEST = 600  # seconds; packages are downloaded


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository as it would be cloned: nothing is built in the folder of the tests."""
    clone = tmp_path_factory.mktemp("clone") / "gossamer"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file() and not name.startswith(("tests/", "bench/")):
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, clone / name)
    return clone


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """pipx and uv, as a person would have them."""
    folder = tmp_path_factory.mktemp("tools")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=LONGEST)
    pip = [
        str(folder / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "pipx",
        "uv",
    ]
    subprocess.run(pip, check=True, timeout=LONGEST)
    return folder / "bin"


def environment(home: Path, *folders: Path) -> dict[str, str]:
    """Of a person with nothing but the system's programs and some tools."""
    home.mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GOSSAMER_", "VIRTUAL_ENV"))}
    path = os.pathsep.join([*map(str, folders), str(Path(sys.base_prefix) / "bin"), "/usr/bin", "/bin"])
    return {**kept, "HOME": str(home), "PATH": path, "PYTHON": f"{sys.base_prefix}/bin/python3"}


def run(command: list[str], folder: Path, own: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True, check=False, timeout=LONGEST)


def assert_works(program: Path, home: Path, own: dict[str, str]) -> None:
    said = run([str(program), "--version"], home, own)
    assert (said.returncode, said.stdout.startswith("gossamer ")) == (0, True), said.stderr
    estimate = run([str(program), "job", "estimate", "--domain", "example.com"], home, own)
    assert "Processing 1 domain" in estimate.stdout, estimate.stderr


@pytest.mark.parametrize(
    ("arguments", "code"), [(["--help"], 0), (["-h"], 0), (["--remov"], 2), (["--remove", "all"], 2)]
)
def test_help_and_unknown_arguments_install_nothing(tmp_path: Path, arguments: list[str], code: int) -> None:
    own = {**environment(tmp_path / "home"), "PREFIX": str(tmp_path / "prefix")}
    done = run([str(ROOT / "scripts" / "install"), *arguments], tmp_path, own)
    assert done.returncode == code
    assert "Usage: scripts/install [--remove]" in (done.stderr if code else done.stdout)
    assert not (tmp_path / "prefix").exists()


def test_make_install_puts_it_on_the_path_and_can_be_undone(sources: Path, tmp_path: Path) -> None:
    own = environment(tmp_path / "home")
    done = run(["make", "install"], sources, own)
    assert done.returncode == 0, done.stderr
    program = tmp_path / "home" / ".local" / "bin" / "gossamer"
    assert f"as {program}\n" in done.stdout
    assert "is not on your PATH" in done.stdout
    assert_works(program, tmp_path, own)
    assert_works(program.with_name("backlink-prospector"), tmp_path, own)
    assert run(["scripts/install", "--remove"], sources, own).returncode == 0
    assert not program.exists()
    program.write_text("somebody else's")
    refused = run(["make", "install"], sources, own)
    assert refused.returncode != 0
    assert "was not made by this command" in refused.stderr
    assert program.read_text() == "somebody else's"


def test_pipx_installs_it(sources: Path, tools: Path, tmp_path: Path) -> None:
    own = environment(tmp_path / "home", tools)
    done = run(["pipx", "install", "."], sources, own)
    assert done.returncode == 0, done.stderr
    assert_works(tmp_path / "home" / ".local" / "bin" / "gossamer", tmp_path, own)


def test_uv_installs_it(sources: Path, tools: Path, tmp_path: Path) -> None:
    own = environment(tmp_path / "home", tools)
    done = run(["uv", "tool", "install", "--python", own["PYTHON"], "."], sources, own)
    assert done.returncode == 0, done.stderr
    assert_works(tmp_path / "home" / ".local" / "bin" / "gossamer", tmp_path, own)
