"""An audit as people and scripts read it."""

from typing import Any

from gossamer.cli import words
from gossamer.cli.home import Home
from gossamer.cli.session import say, say_json
from gossamer.model.ids import short
from gossamer.questions.proofs import audited
from gossamer.work.audit import AuditReport, Check

NOT_CLEAN = 1  # exit code

_SUMS = ("pages", "domains")  # checks whose first figure is the sum of the others


async def show_audit(home: Home, text: str, *, as_json: bool) -> int:
    found = await home.ask(audited, text)
    report = found.report
    if as_json:
        say_json(as_object(report))
    else:
        for line in lines(report, words.state_word(found.job, found.runner)):
            say(line)
    return 0 if report.clean else NOT_CLEAN


def lines(report: AuditReport, state: str = "") -> list[str]:
    """A line for each check, one more for each thing that is wrong, and the verdict; `state`: as the list shows it."""
    told = [line for check in report.checks for line in _lines(check)]
    failed = sum(bool(check.faults) for check in report.checks)
    if not failed:
        return [
            *told,
            f"Clean: job {short(report.job_id)} ({state or report.state}) adds up, nothing is missing or double.",
        ]
    return [*told, f"Not clean: {failed} of {len(report.checks)} checks of job {short(report.job_id)} failed."]


def _lines(check: Check) -> list[str]:
    figures = [_figure(figure, name) for name, figure in check.figures.items()]
    told = f"{figures[0]} = {' + '.join(figures[1:])}" if check.name in _SUMS else ", ".join(figures)
    return [
        f"{'WRONG' if check.faults else 'ok':5}  {check.name:10}  {told or 'none yet'}",
        *(f"       {fault}" for fault in check.faults),
    ]


def _figure(figure: int, name: str) -> str:
    """`2 pages done`, `1 page done`: what is counted comes first in a name."""
    thing, _, rest = name.replace("_", " ").partition(" ")
    return f"{figure:,} {thing.removesuffix('s') if figure == 1 else thing} {rest}".rstrip()


def as_object(report: AuditReport) -> dict[str, Any]:
    return {
        "job": str(report.job_id),
        "short_id": short(report.job_id),
        "state": str(report.state),
        "clean": report.clean,
        "checks": [
            {"name": check.name, "clean": not check.faults, "figures": dict(check.figures), "faults": check.faults}
            for check in report.checks
        ],
    }
