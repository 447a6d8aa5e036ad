"""Lists of domains as `job run` and `job estimate` take them, and what is said aloud about them."""

from pathlib import Path

from gossamer.cli.session import say
from gossamer.intake.exclusions import leave_out, left_out_sentence, read_exclusions
from gossamer.intake.targets import TargetList, processing_sentence, removed_sentence


def without_excluded(targets: TargetList, exclude: Path | None, *, quiet: bool) -> TargetList:
    """What is left of a list, and how much that is."""
    if exclude:
        listed = targets
        targets = leave_out(listed, read_exclusions(exclude), exclude)
        say(left_out_sentence(listed, targets, exclude), quiet=quiet)
    say(removed_sentence(targets) if targets.duplicates else processing_sentence(targets), quiet=quiet)
    return targets
