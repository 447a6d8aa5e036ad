"""The figures of a run for people: a Markdown table, and its place in docs/reference/figures.md."""

from pathlib import Path
from typing import Any

from bench.figure import BenchFailed

BEGIN, END = "<!-- figures -->", "<!-- /figures -->"


def table_of(run: dict[str, Any]) -> str:
    machine, versions = run["machine"], run["versions"]
    others = ", ".join(f"{name} {version}" for name, version in versions.items() if name not in ("python", "gossamer"))
    lines = [
        f"Measured on {machine['cores']} cores ({machine['cpu']}), {machine['memory_gb']:g} GB, "
        f"Python {versions['python']}{f', {others}' if others else ''}{'; small sizes only' if run['quick'] else ''}.",
        "",
        "| | measured | limit |",
        "|---|---:|---:|",
    ]
    for name, benchmark in run["benchmarks"].items():
        taken = f"{benchmark['date']}, load {benchmark['load']:g} when it began"
        lines.append(f"| **{name}** ({taken}) | {benchmark.get('error') or benchmark.get('skipped', '')} | |")
        lines += [_row(figure) for figure in benchmark["figures"].values()]
    return "\n".join(lines)


def _row(figure: dict[str, Any]) -> str:
    note = f" ({figure['note']})" if "note" in figure else ""
    value = f"{_number(figure['value'])} {figure['unit']}".rstrip()
    return f"| {figure['meaning']}{note} | {value} | {_limits(figure)} |"


def _limits(figure: dict[str, Any]) -> str:
    limits = []
    if "limit" in figure:
        limits.append(f"{_number(figure['limit'])} {figure['unit']}".strip())
    if "least" in figure:
        limits.append(f"at least {_number(figure['least'])} {figure['unit']}".strip())
    return ", ".join(limits) + ("" if figure.get("ok", True) else " (missed)")


def _number(value: float) -> str:
    return f"{value:,}" if abs(value) >= 1000 else f"{value:.3g}"


def write_figures(page: Path, run: dict[str, Any]) -> None:
    """Replace what stands between the markers."""
    if run["quick"]:
        raise BenchFailed(
            "the latest figures are of a quick run, which are not for the documents: run 'make bench' first"
        )
    text = page.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise BenchFailed(f"{page.name} has no lines {BEGIN} and {END} to put the figures between")
    page.write_text(f"{before}{BEGIN}\n{table_of(run)}\n{END}{after}", encoding="utf-8")
