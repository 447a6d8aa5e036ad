"""Lists of domains and keywords as `job run` and `job estimate` take them, and what is said aloud about them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gossamer.cli.session import say
from gossamer.errors import UserError
from gossamer.intake.exclusions import leave_out, left_out_sentence, read_exclusions
from gossamer.intake.keywords import KeywordList, loaded_sentence, matching_sentence, read_keywords
from gossamer.intake.skipped import SkippedLine, skipped_sentence, write_skipped
from gossamer.intake.targets import TargetList, processing_sentence, read_targets, removed_sentence
from gossamer.intake.textfile import STDIN


@dataclass(frozen=True, slots=True)
class Lists:
    """Where a job's domains and keywords are listed: files, standard input, single options."""

    domains: Path | None
    single_domains: Sequence[str] = ()
    exclude: Path | None = None
    keywords: Path | None = None
    single_keywords: Sequence[str] = ()
    skip_invalid: bool = False
    case_sensitive: bool = False
    plurals: bool = False

    def read(self, *, quiet: bool) -> tuple[TargetList, KeywordList]:
        """Domains and keywords. Both are read before anything is said or written, since either may be refused."""
        self._check_stdin()
        targets = read_targets(self.domains, self.single_domains, skip_invalid=self.skip_invalid)
        keywords = read_keywords(
            self.keywords,
            self.single_keywords,
            skip_invalid=self.skip_invalid,
            case_sensitive=self.case_sensitive,
        )
        say(loaded_sentence(keywords, self.keywords), quiet=quiet)
        say(matching_sentence(case_sensitive=self.case_sensitive, plurals=self.plurals), quiet=quiet)
        _report_skipped(self.keywords, "keywords", keywords.skipped, quiet=quiet)
        return self._left(targets, quiet=quiet), keywords

    def read_domains(self, *, quiet: bool) -> TargetList:
        """The domains only."""
        self._check_stdin()
        targets = read_targets(self.domains, self.single_domains, skip_invalid=self.skip_invalid)
        return self._left(targets, quiet=quiet)

    def _left(self, targets: TargetList, *, quiet: bool) -> TargetList:
        """What is left without the excluded ones, and how much that is."""
        _report_skipped(self.domains, "domains", targets.skipped, quiet=quiet)
        if self.exclude:
            listed = targets
            targets = leave_out(listed, read_exclusions(self.exclude), self.exclude)
            say(left_out_sentence(listed, targets, self.exclude), quiet=quiet)
        say(removed_sentence(targets) if targets.duplicates else processing_sentence(targets), quiet=quiet)
        return targets

    def _check_stdin(self) -> None:
        if (self.domains, self.exclude, self.keywords).count(STDIN) > 1:
            raise UserError(
                "usage.stdin", "Only one list can come from standard input.", hint="Put the other in a file."
            )


def _report_skipped(source: Path | None, subject: str, skipped: Sequence[SkippedLine], *, quiet: bool) -> None:
    if source and skipped:
        say(skipped_sentence(skipped, source, write_skipped(source, subject, skipped)), quiet=quiet)
