"""`make demo`, faster than polite, and the tables, reports and files of its job."""

import os
import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import orjson

from tests.golden.normal import Normal, without_progress
from tests.golden.takes import WIDTH, Stage, Take, transcript
from tests.stories.program import LONGEST, Terminal

_QUICK = {"GOSSAMER_DOMAIN_RATE": "50", "GOSSAMER_PROCESSES": "1", "NO_COLOR": "1", "COLUMNS": WIDTH}


def demo(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
    command = [sys.executable, "-m", "gossamer_sandbox.demo"]
    ran = subprocess.run(
        command, cwd=folder, env={**kept, **_QUICK}, capture_output=True, text=True, timeout=LONGEST, check=False
    )
    made = folder / "demo-output"
    terminal = Terminal(made / "home", settings=_QUICK)
    normal = Normal({str(folder): "<folder>", str(Path(sys.executable).absolute().parent): "<programs>"})
    normal.job(terminal.newest(), "demo job")
    said = normal.text(without_progress(ran.stdout))
    stage = Stage(terminal, normal)
    return {
        "demo.txt": transcript([Take("make demo", f"exit {ran.returncode}", said, normal.text(ran.stderr))]),
        "demo-reports.txt": transcript(_reports(stage)),
        "demo-json.txt": transcript(_answers(stage)),
        "demo-results.csv": _begin_of(normal.text((made / "results.csv").read_text(encoding="utf-8")), 40),
        "demo-results.json": _begin_of(normal.text((made / "results.json").read_text(encoding="utf-8")), 2),
        "demo-files.txt": transcript(_files(stage, folder)),
    }


def _begin_of(text: str, lines: int) -> str:
    """The first lines of a file, and the digest of all of it."""
    every = text.splitlines(keepends=True)
    return "".join(every[:lines]) + f"[{len(every)} lines, {sha256(text.encode()).hexdigest()}]\n"


def _reports(stage: Stage) -> list[Take]:
    takes = stage.commands(
        "job status last",
        "job list",
        "job list --state completed --limit 1",
        "job sites last",
        "job sites last --state failed",
        "job pages last --site site-0010.test",
        "job pages last --state failed",
        "job results last --limit 5",
        "job results last --domain site-0002.test --unlinked-only --limit 5",
        "job errors last",
        "job cost-report last",
        "job summary last",
        "job audit last",
        "job history last --site site-0035.test",
        "job estimate --domains ../domains.txt",
        "explain http://site-0002.test/",
        "explain http://site-0001.test/",
        "system alerts",
        "system retention",
        "system workers",
        "system credits",
        "system queue-status",
        "system backlog",
        "system dead-letters list",
        "system keys list",
        "webhook list",
        "account list",
        "db upgrade",
        # What is refused, and how.
        "job status no-such-job",
        "job pause last",
        "job resume last",
        "job cancel last",
        "job start last",
        "job export last --format xls",
        "job results last --limit 0",
        "job runn",
        "system dead-letters show nothing",
    )
    takes.append(_politeness(stage))
    return takes


def _politeness(stage: Stage) -> Take:
    """Its columns and its summary: which domains stand first is chance, and all were asked too quickly."""
    take = stage.command("job", "politeness", "last", ragged=True)
    rows = re.compile(r"[\w.-]+\.test  |Too close: ")
    return Take(take.shown, take.ended, "\n".join(line for line in take.out.splitlines() if not rows.match(line)))


def _answers(stage: Stage) -> list[Take]:
    return stage.commands(
        "job status last --json",
        "job list --json",
        "job sites last --limit 3 --json",
        "job pages last --state failed --json",
        "job results last --limit 3 --json",
        "job errors last --json",
        "job cost-report last --json",
        "job summary last --json",
        "job audit last --json",
        "job exports last --json",
        "job history last --site site-0035.test --json",
        "explain http://site-0002.test/ --json",
        "system alerts --json",
        "system retention --json",
        "system workers --json",
        "system metrics --json",
        "system credits --json",
        "system queue-status --json",
        "system dead-letters list --json",
        "system keys list --json",
        "webhook list --json",
        "account list --json",
        "job status no-such-job --json",
        "job pause last --json",
    )


def _files(stage: Stage, folder: Path) -> list[Take]:
    """Files of other kinds, shown as text; of those that are archives, what they hold."""
    kinds = ("prospects", "errors", "pages", "costs")
    takes = [
        _written(stage, folder / f"{kind}.{ending}", "--type", kind) for kind in kinds for ending in ("csv", "json")
    ]
    return [*takes, *(_written(stage, folder / name) for name in ("results.jsonl", "failed_domains.csv"))]


def _written(stage: Stage, path: Path, *more: str) -> Take:
    wanted = ("errors",) if path.name == "failed_domains.csv" else ("export",)
    take = stage.command("job", *wanted, "last", *more, "--output", str(path))
    lines = stage.normal.text(path.read_text(encoding="utf-8-sig")).splitlines(keepends=True)
    if path.suffix == ".json":
        value = orjson.loads(path.read_bytes())
        shown = value[:2] if isinstance(value, list) else value
        lines = [stage.normal.text(orjson.dumps(shown, option=orjson.OPT_INDENT_2).decode()) + "\n"]
    return Take(take.shown, take.ended, "".join(lines[:12]), take.out + take.err)
