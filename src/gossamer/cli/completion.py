"""Values that the shell completes: choices of an option, and the jobs of this machine.

The shell asks at every press of TAB, so little is loaded; on errors nothing is offered. Names with characters that a
shell could interpret are left out.
"""

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer.core import CompletionItem  # type: ignore[attr-defined] # not in its list of names

from gossamer.cli.group import lazy_module
from gossamer.errors import GossamerError
from gossamer.model.ids import short
from gossamer.model.rungs import RUNGS, Mode
from gossamer.model.states import JobState
from gossamer.model.webhook import WANTED

if TYPE_CHECKING:
    from gossamer import settings
    from gossamer.cli import servers
    from gossamer.db import newest_jobs
else:
    # Only completing jobs needs these.
    newest_jobs = lazy_module("gossamer.db.newest_jobs")
    servers = lazy_module("gossamer.cli.servers")
    settings = lazy_module("gossamer.settings")

JOBS = frozenset({"job", "since_job"})
"""Parameters that take a job's id or name."""

SHELLS = ("bash", "zsh", "fish")
_MOST = 50  # jobs
_SAFE = re.compile(r"\w(?:[\w .+@-]*[\w.+@-])?")
_UNSAFE = re.compile(r"[^\w .+@-]+")
_SQLITE = "sqlite:///"

Offer = tuple[str, str]  # a value, and what it is


def _modes() -> Sequence[str]:
    return [mode for mode in Mode if mode is not Mode.OWN]


def _lanes() -> Sequence[str]:
    return list(dict.fromkeys(rung.lane for rung in RUNGS.values()))


# By the parameter's name and its metavar. A metavar that is itself a list, like csv|json, needs no entry.
_KNOWN: dict[tuple[str, str], Callable[[], Sequence[str]]] = {
    ("mode", "MODE"): _modes,
    ("ladder", "METHODS"): lambda: list(RUNGS),
    ("lane", "LANE"): _lanes,
    ("state", "STATE"): lambda: list(JobState),
    ("events", "NAME,NAME,..."): lambda: WANTED,
    ("shell", "SHELL"): lambda: SHELLS,
}
# Several may be given, separated by commas.
_LISTS = frozenset({"events", "ladder"})


def known_values(name: str, metavar: str) -> Callable[[], Sequence[str]] | None:
    """The choices for a parameter, if they are known."""
    if "|" in metavar:
        return lambda: metavar.strip("[]").split("|")
    return _KNOWN.get((name, metavar))


def offer_values(param: Any) -> None:
    """Register the completion of a parameter's values, unless it has one already."""
    if param._custom_shell_complete:
        return
    if param.name in JOBS:
        param._custom_shell_complete = _jobs
    elif values := known_values(param.name, param.metavar or ""):
        is_list = param.name in _LISTS

        def offered(context: Any, _: Any, typed: str) -> list[Any]:
            several = is_list or (context.info_name == "export" and param.name == "form")
            return _items(_fitting(values(), typed, several=several))

        param._custom_shell_complete = offered


def offer_choices(choices: Sequence[str], *, several: bool) -> Callable[[str], list[str]]:
    """The completion of a parameter with these values; `several` may be given, separated by commas."""

    def offered(incomplete: str) -> list[str]:
        return [value for value, _ in _fitting(choices, incomplete, several=several)]

    return offered


def _fitting(values: Sequence[str], typed: str, *, several: bool) -> list[Offer]:
    before, comma, last = typed.rpartition(",") if several else ("", "", typed)
    given = before.split(",")
    return [(f"{before}{comma}{value}", "") for value in values if value.startswith(last) and value not in given]


def _jobs(context: Any, _: Any, typed: str) -> list[Any]:
    try:
        offers = _newest_jobs(is_local=bool(context.find_root().params.get("local")))
    except GossamerError:
        return []
    return _items([(_shell_quoted(value), meaning) for value, meaning in offers if value.startswith(typed)])


def _newest_jobs(*, is_local: bool) -> list[Offer]:
    """The newest jobs of this machine. A server is not asked, because that takes too long for a key press."""
    read, _ = settings.read_settings()
    url = read.database_url.get_secret_value() if read.database_url else ""
    is_here = not url or url.startswith(_SQLITE)
    last = [("last", "the newest job")]
    if not is_here or (not is_local and servers.chosen_login(read)):
        return last
    jobs = newest_jobs.newest_jobs(Path(url.removeprefix(_SQLITE)) if url else read.home / "gossamer.db", _MOST)
    ids = [(short(job.id), f"{' '.join(_UNSAFE.sub(' ', job.name).split())} ({job.state})") for job in jobs]
    names = [job.name for job in jobs]
    alone = [(job.name, job.state) for job in jobs if names.count(job.name) == 1 and _SAFE.fullmatch(job.name)]
    return [*last, *ids, *alone] if jobs else []


def _shell_quoted(value: str) -> str:
    """The value in quotes where bash needs them; other shells quote values themselves."""
    if " " not in value or "COMP_WORDS" not in os.environ:
        return value
    words, at = os.environ["COMP_WORDS"].split("\n"), os.environ.get("COMP_CWORD", "")
    word = words[int(at)] if at.isdecimal() and int(at) < len(words) else ""
    return value if word.startswith(("'", '"')) else f"'{value}'"


def _items(offers: Sequence[Offer]) -> list[Any]:
    return [CompletionItem(str(value), help=meaning or None) for value, meaning in offers]
