"""Beside stage one: a list of domains that a job must leave alone, whatever its own list says."""

from dataclasses import replace
from pathlib import Path

from gossamer.errors import UserError
from gossamer.intake.targets import TargetList, read_entries
from gossamer.intake.textfile import name_of
from gossamer.model.url import is_covered


def read_exclusions(path: Path) -> frozenset[str]:
    """The sites of a suppression list, which has the same forms as a list of domains and may be of any length."""
    entries, _ = read_entries(path)
    return frozenset(entries)


def leave_out(loaded: TargetList, excluded: frozenset[str], path: Path) -> TargetList:
    """The list without what is excluded; if nothing is left of it, that is a `UserError`."""
    left = tuple(target for target in loaded.targets if not is_covered(target.host, excluded))
    if not left:
        message = f"Nothing is left to visit: {name_of(path)} names every domain of the list."
        raise UserError("targets.all_excluded", message, hint="Check that --exclude-domains is the right file.")
    return replace(loaded, targets=left)


def left_out_sentence(before: TargetList, after: TargetList, path: Path) -> str:
    """`Left out 37 domains of suppress.txt`."""
    count = len(before.targets) - len(after.targets)
    return f"Left out {count:,} domain{'' if count == 1 else 's'} of {name_of(Path(path.name))}"
