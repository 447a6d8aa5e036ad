"""`scripts/counts` counts what it says it does."""

import subprocess
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent

SOURCES = {
    "__init__.py": "",
    "a.py": '"""What it is."""\n\nfrom gossamer.b import Same\n\n\nclass Other(Same):\n    """An example."""\n',
    "b.py": "# a comment\nclass Same:\n    pass\n\n\nclass Twice:\n    pass\n",
    "c/__init__.py": "class Same:\n    pass\n",
    "c/d.py": (
        "class Same:\n    pass\n\n\nclass Twice:\n    pass\n\n\n"
        'def load() -> None:\n    """Tell nobody."""\n'
        "    from gossamer import b  # start-up\n"
        "    import json\n\n"
        "    # Needed by some only.\n    import csv\n    import io\n"
        "    import_module(f'x')\n"
    ),
    "c/e.py": "from . import d\nfrom .. import c\n\n\ndef __getattr__(name: str) -> None: ...\n",
    "app/application.py": "def __getattr__(name: str) -> None: ...\n",
    "store/migrations/versions/0001.py": '"""Nobody reads it."""\n',
}


@cache
def counts() -> Any:
    loader = SourceFileLoader("counts", str(ROOT / "scripts" / "counts"))
    spec = spec_from_loader("counts", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_each_figure_of_a_small_package() -> None:
    found = counts().count(SOURCES)
    assert found.figures == {
        "modules": 7,
        "lines": 39,
        "mean lines": 5.6,
        "p90 lines": 17,
        "most lines": 17,
        "modules above 700 lines": 0,
        "single-importer modules under 110 lines": 1,
        "class names defined three times or more": 1,
        "class names defined twice": 1,
        "functions with the body of another": 0,
        "function-level imports": 4,
        "function-level imports without a reason": 1,
        "docstrings with What, nobody and the like": 2,
        "modules loaded by name elsewhere": 2,
        "comments, % of written lines": 11.11,
    }
    assert found.lists["single-importer modules under 110 lines"] == ["c/d.py 17 <- c/e.py"]
    assert found.lists["class names defined three times or more"] == ["Same 3: b.py, c/__init__.py, c/d.py"]
    assert found.lists["function-level imports without a reason"] == ["c/d.py:12 import json"]


def test_functions_with_the_same_body() -> None:
    body = "\n    total = 0\n    for number in range(10):\n        total += number * 2 - 1\n    return -total + 3\n"
    sources = {"a.py": f"def one() -> int:{body}", "b.py": f'def two() -> int:\n    """Add."""{body}'}
    assert counts().count(sources).lists["functions with the body of another"] == ["a.py:1 one, b.py:1 two"]


def test_a_commit_is_counted_like_the_working_tree(tmp_path: Path) -> None:
    for path, text in SOURCES.items():
        file = tmp_path / "src" / "gossamer" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    assert counts().of_commit("HEAD", tmp_path) == counts().working_tree(tmp_path) == SOURCES
