"""Small runs of the benchmarks that need nothing installed: they measure something, and it is what they say."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson

from bench.running import ROOT


def figures_of(name: str, folder: Path) -> dict[str, Any]:
    kept = folder / "latest.json"
    command = [sys.executable, "-m", "bench", name, "--quick", "--out", str(kept)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=240, check=False)
    benchmark = orjson.loads(kept.read_bytes())["benchmarks"][name]
    assert "error" not in benchmark, ran.stderr.decode()
    figures: dict[str, Any] = benchmark["figures"]
    return figures


def test_a_polite_job_is_seen_to_be_polite_by_the_server(tmp_path: Path) -> None:
    figures = figures_of("pace", tmp_path)
    assert figures["gap"]["ok"] is True, figures["gap"]
    assert figures["wall"]["value"] > 2 * figures["gap"]["value"]  # three pages of every site


def test_a_workbook_is_written_by_both(tmp_path: Path) -> None:
    figures = figures_of("workbook", tmp_path)
    assert 20 < figures["memory"]["value"] < 150
    assert figures["wall"]["value"] > 0
    assert figures["bare_cpu"]["value"] > 0


def test_memory_is_looked_at_while_all_sites_are_in_flight(tmp_path: Path) -> None:
    figures = figures_of("memory", tmp_path)
    assert 20 < figures["in_flight"]["value"] < 400
    # The row of a visit that has just ended says "running" until it is settled, so there may be one more.
    assert int(figures["in_flight"]["note"].partition(" at once")[0]) >= 30
    assert len(figures["late"]["curve"]) > 2
    assert figures["growth"]["value"] > 0.5


def test_rows_of_other_months_are_not_read(tmp_path: Path) -> None:
    figures = figures_of("partitions", tmp_path)
    assert figures["rows"]["value"] == 2 * 150 * 29
    assert figures["touched"]["value"] == 1
    assert figures["large"]["value"] > 0


def test_a_batch_is_beside_single_calls(tmp_path: Path) -> None:
    figures = figures_of("load_batch", tmp_path)
    assert [figures[name]["value"] for name in ("missing", "credits", "lost")] == [0, 0, 0]
    assert len(figures["batch_100"]["curve"]) == 2
    assert figures["cpu_100"]["value"] > 0
