"""`make demo`: a sample web on loopback, a real prospecting job on it, some of its table, and the job at a glance."""

import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import orjson

FOLDER = Path("demo-output").absolute()
NAME = "Demo"
SITES = 40
PAGES = 10
FILES = ("results.csv", "results.json")
CLIENT = "client-acme.test"
COMPETITORS = ("rival-north.test", "rival-south.test")


def main() -> int:
    if kept := make_room(FOLDER):
        _say(kept)
    programs = Path(sys.executable).absolute().parent
    home, path = (shlex.quote(str(folder)) for folder in (FOLDER / "home", programs))
    _say(f"A sample web of {SITES} sites, a quarter of them nasty, answers on this machine only.")
    _say("The job visits each politely: robots.txt first, then at most one request per second.")
    _say(f"So that it is over soon, at most {PAGES} pages of each site are read.\n")
    _say("To try the commands shown below, type this first; it is for the demo, not for your own sites:")
    _say(f"  export GOSSAMER_HOME={home} PATH={path}:$PATH\n")
    with _sample_web() as port:
        environment = {
            # A server of somebody's own has no part in it, nor need its client be installed.
            **{name: value for name, value in os.environ.items() if not name.endswith("REDIS_URL")},
            "GOSSAMER_REMOTE": "local",  # whoever is logged in to a server
            "GOSSAMER_HOME": str(FOLDER / "home"),
            "GOSSAMER_CONNECT_TO": f"*.test=127.0.0.1:{port}",
            # Some of the nasty sites never answer; nobody wants to watch that for long.
            "GOSSAMER_HTTP_TIMEOUT": "3s",
        }
        lists = ("--domains", str(FOLDER / "domains.txt"), "--keywords", str(FOLDER / "keywords.txt"))
        parties = ("--client-domain", CLIENT, *(word for name in COMPETITORS for word in ("--competitor-domain", name)))
        limits = ("--max-pages-per-domain", str(PAGES))
        code = _gossamer(environment, "job", "run", "--name", NAME, *lists, *parties, *limits)
        if code:
            return code
        job = _job_id(environment)
        best = FOLDER / "prospects.json"
        code = _gossamer(environment, "job", "export", job, "--type", "prospects", "--output", str(best), quiet=True)
        if not code and (first := _best_domain(best)):
            _say(f"\nUnlinked mentions on {first}, the best prospect (they name a keyword and do not link to you):\n")
            code = _gossamer(environment, "job", "results", job, "--unlinked-only", "--domain", first, "--limit", "8")
        _say("\nThe whole job at a glance, best prospects first:\n")
        code = code or _gossamer(environment, "job", "summary", job)
        _say("")
        for name in FILES:
            code = code or _gossamer(environment, "job", "export", job, "--output", str(FOLDER / name), quiet=True)
        _say(f"The whole table: {' and '.join(str(FOLDER / name) for name in FILES)}")
        _say(f"To look around in the demo: GOSSAMER_HOME={home} {path}/gossamer job status {job[-8:]}")
        own = f"{path}/gossamer job run --name Mine --domains domains.csv --keywords keywords.txt"
        _say(f"Your own sites, in a data folder of their own: env -u GOSSAMER_HOME {own}")
        _say("The demo's folder is emptied by the next 'make demo'.")
    return code


def make_room(folder: Path) -> str:
    """An empty folder. One with jobs other than the demo's is kept under another name, and the answer says so."""
    said = ""
    if folder.exists() and _has_other_jobs(folder / "home"):
        number = 1
        while (kept := folder.with_name(f"{folder.name}-{number}")).exists():
            number += 1
        folder.rename(kept)
        said = f"There are jobs of your own in {folder}: it was moved to {kept}.\n"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return said


def _has_other_jobs(home: Path) -> bool:
    """Return True if a data folder has jobs besides the one of a demo, or cannot be read."""
    file = home / "gossamer.db"
    if not file.exists():
        return False
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as database:
            names = [name for (name,) in database.execute("SELECT name FROM jobs LIMIT 2")]
    except sqlite3.Error:
        return True
    return names not in ([], [NAME])


def _best_domain(prospects: Path) -> str:
    """The first of a list of prospects, or nothing."""
    found = orjson.loads(prospects.read_bytes())
    return str(found[0]["domain"]) if isinstance(found, list) and found else ""


@contextmanager
def _sample_web() -> Iterator[int]:
    command = [
        *(sys.executable, "-m", "gossamer_sandbox.web", "--port", "0", "--sites", str(SITES), "--seed", "7"),
        *("--size-min", "3", "--size-max", "8", "--domains", str(FOLDER / "domains.txt")),
        *("--keywords", str(FOLDER / "keywords.txt"), "--truth", str(FOLDER / "truth.json")),
        *("--pages-per-site", str(PAGES)),
    ]
    web = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own program
    try:
        ready = web.stdout.readline() if web.stdout else ""
        found = re.search(r"port=(\d+)", ready)
        if not found:
            raise RuntimeError("the sample web did not start")
        yield int(found[1])
    finally:
        web.terminate()
        web.wait(10)


def _gossamer(environment: dict[str, str], *arguments: str, quiet: bool = False) -> int:
    """Its exit code; one that is quiet is heard only when it fails."""
    command = [sys.executable, "-m", "gossamer", *arguments]
    ran = subprocess.run(command, env=environment, check=False, capture_output=quiet, text=True)  # noqa: S603 - ours
    if quiet and ran.returncode:
        _say(ran.stderr)
    return ran.returncode


def _job_id(environment: dict[str, str]) -> str:
    command = [sys.executable, "-m", "gossamer", "job", "list", "--json"]
    answer = subprocess.run(command, env=environment, check=True, capture_output=True)  # noqa: S603 - our own program
    return str(orjson.loads(answer.stdout)[0]["id"])


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
