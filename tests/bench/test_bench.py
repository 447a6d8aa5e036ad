"""The benchmarks run and say what they measured. How fast this machine is today is not for a test to judge."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from bench.__main__ import beside_former
from bench.figure import BenchFailed, Figure
from bench.running import ROOT, Overtime, run, time_limit
from bench.table import table_of, write_figures


def measured(**changes: Any) -> dict[str, Any]:
    figures = [
        Figure("wall", "`gossamer --help`", 0.31, "s", limit=0.4),
        Figure("rows", "records", 1_000_000, ""),
        Figure("slow", "a slow thing", 3.0, "s", limit=2.0),
        Figure("faster", "two against one", 1.7, "times", least=1.5),
    ]
    return {
        "date": "2026-01-18T09:30:00Z",
        "quick": False,
        "machine": {"cores": 2, "cpu": "A CPU", "memory_gb": 24.0},
        "versions": {"python": "3.11.7", "gossamer": "0.1.0", "scrapy": "2.19.0"},
        "benchmarks": {
            "startup": {
                "ok": False,
                "date": "2026-01-18",
                "load": 0.5,
                "figures": {one.name: one.as_json() for one in figures},
            }
        },
        **changes,
    }


def test_a_run_prints_one_json_object_and_keeps_it(tmp_path: Path) -> None:
    kept = tmp_path / "out" / "latest.json"
    ran = subprocess.run(
        [sys.executable, "-m", "bench", "startup", "--quick", "--out", str(kept)],
        cwd=ROOT,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode in (0, 1), ran.stderr.decode()
    told = orjson.loads(ran.stdout)
    assert told == orjson.loads(kept.read_bytes())
    assert told["quick"] is True
    assert told["machine"]["cores"] >= 1
    assert {"python", "sqlalchemy", "wreq", "turbohtml", "gossamer", "scrapy", "crawlee"} <= set(told["versions"])
    assert set(told["benchmarks"]) == {"startup"}
    startup = told["benchmarks"]["startup"]
    assert "error" not in startup
    assert startup["ok"] is (ran.returncode == 0)
    assert startup["figures"]["wall"]["limit"] == 0.4
    assert startup["figures"]["cpu"]["value"] > startup["figures"]["floor_cpu"]["value"]
    assert startup["figures"]["unwanted_imports"]["ok"] is True, startup["figures"]["unwanted_imports"]["note"]


def test_a_benchmark_nobody_knows_is_refused_before_any_is_run(tmp_path: Path) -> None:
    kept = tmp_path / "latest.json"
    command = [sys.executable, "-m", "bench", "startup", "starship", "--out", str(kept)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=60, check=False)
    assert ran.returncode == 2
    assert b"no benchmark 'starship'" in ran.stderr
    assert not kept.exists()


def test_a_figure_above_its_limit_is_not_ok() -> None:
    assert Figure("a", "", 2.0, "s", limit=2.0).as_json()["ok"] is True
    assert Figure("a", "", 2.1, "s", limit=2.0).as_json()["ok"] is False
    assert "ok" not in Figure("a", "", 2.1, "s").as_json()


def test_a_figure_below_what_it_must_reach_is_not_ok() -> None:
    assert Figure("a", "", 1.5, "times", least=1.5).as_json()["ok"] is True
    assert Figure("a", "", 1.4, "times", least=1.5).as_json() == {
        **{"meaning": "", "value": 1.4, "unit": "times"},
        **{"least": 1.5, "ok": False},
    }


def test_the_table_shows_every_figure_and_which_limit_was_missed() -> None:
    lines = table_of(measured()).splitlines()
    assert "| `gossamer --help` | 0.31 s | 0.4 s |" in lines
    assert "| records | 1,000,000 |  |" in lines
    assert "| a slow thing | 3 s | 2 s (missed) |" in lines
    assert "| two against one | 1.7 times | at least 1.5 times |" in lines


def test_the_table_names_the_machine_and_the_versions_of_everybody() -> None:
    assert table_of(measured()).splitlines()[0] == ("Measured on 2 cores (A CPU), 24 GB, Python 3.11.7, scrapy 2.19.0.")
    assert "| **startup** (2026-01-18, load 0.5 when it began) |  | |" in table_of(measured()).splitlines()


def test_what_was_taken_before_and_not_again_is_kept_unless_it_was_elsewhere(tmp_path: Path) -> None:
    out = tmp_path / "latest.json"
    out.write_bytes(orjson.dumps(measured()))
    again = measured(benchmarks={"crawl": {"ok": True, "date": "2026-01-19", "load": 0.0, "figures": {}}})
    assert list(beside_former(again, out)["benchmarks"]) == ["startup", "crawl"]
    for other in ({"quick": True}, {"machine": {"cores": 4}}):
        assert list(beside_former({**again, **other}, out)["benchmarks"]) == ["crawl"]
    assert beside_former(again, tmp_path / "none.json") == again


def test_the_page_gets_the_table_between_its_marks_and_nothing_else_changes(tmp_path: Path) -> None:
    page = tmp_path / "figures.md"
    page.write_text("# A\n\n<!-- figures -->\nold\n<!-- /figures -->\n\nrest\n", encoding="utf-8")
    write_figures(page, measured())
    write_figures(page, measured())
    assert page.read_text(encoding="utf-8") == (
        f"# A\n\n<!-- figures -->\n{table_of(measured())}\n<!-- /figures -->\n\nrest\n"
    )


@pytest.mark.parametrize("text", ["# A\n", "<!-- figures -->\n", "<!-- /figures -->\n"])
def test_a_page_without_both_marks_is_left_alone(tmp_path: Path, text: str) -> None:
    page = tmp_path / "figures.md"
    page.write_text(text, encoding="utf-8")
    with pytest.raises(BenchFailed, match=r"figures\.md has no lines"):
        write_figures(page, measured())
    assert page.read_text(encoding="utf-8") == text


def test_figures_of_a_quick_run_are_not_for_the_documents(tmp_path: Path) -> None:
    with pytest.raises(BenchFailed, match="quick run"):
        write_figures(tmp_path / "figures.md", measured(quick=True))


def test_a_program_that_fails_is_no_measurement() -> None:
    with pytest.raises(BenchFailed, match="ended with 7: so it goes"):
        run([sys.executable, "-c", "import sys; print('so it goes', file=sys.stderr); sys.exit(7)"])


def test_a_program_that_does_not_end_is_ended_when_the_time_is_over(tmp_path: Path) -> None:
    started = tmp_path / "pid"
    endless = f"import os, pathlib, time; pathlib.Path({str(started)!r}).write_text(str(os.getpid())); time.sleep(600)"
    with pytest.raises(Overtime), time_limit(3):
        run([sys.executable, "-c", endless])
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


def test_the_cpu_of_children_counts() -> None:
    spin = "import time\nwhile time.process_time() < 0.3: pass"
    ran = run([sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {spin!r}])"])
    assert ran.cpu >= 0.3
