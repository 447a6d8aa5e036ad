"""Lists of domains: from a file or the command line to unique sites."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gossamer.errors import UserError
from gossamer.intake.columns import Cell, cells_of_sheet, read_cells, titles
from gossamer.intake.domain import BadEntry, Domain, clean, read_domain, target_of
from gossamer.intake.textfile import SkippedLine, UnusableCell, name_of, quoted, read_list
from gossamer.model.job import Target
from gossamer.model.url import is_covered, site_of

MAX_TARGETS = 50_000

_LISTED = re.compile(r"[,;\s]+")

EXPECTED = "Expected one domain per line, or CSV with a 'domain' column."
_HINT = "Expected a name like example.com or an address like https://example.com/."
_HINT_SKIP = f"{_HINT} --skip-invalid leaves such lines out."


@dataclass(frozen=True, slots=True)
class TargetList:
    """The sites of a list in the order they were first named: of `given` valid entries, `duplicates` were left out."""

    targets: tuple[Target, ...]
    given: int
    duplicates: int
    skipped: tuple[SkippedLine, ...] = ()  # invalid lines, if they were to be skipped


@dataclass(frozen=True, slots=True)
class ListEntry:
    """The first mention of a site in a list: its line and its spelling."""

    line: int
    domain: Domain
    text: str


def read_targets(path: Path | None, typed: Sequence[str] = (), *, skip_invalid: bool = False) -> TargetList:
    """Read a list of domains, and those of the command line.

    Raises UserError for the first invalid line, unless such lines are skipped.
    """
    entries, given = _typed_entries(typed)
    skipped: tuple[SkippedLine, ...] = ()
    if path is not None:
        listed, count, skipped = _read(path, _HINT_SKIP, skip_invalid=skip_invalid)
        entries = {**listed, **{site: entry for site, entry in entries.items() if site not in listed}}
        given += count
    if not entries:
        raise UserError("targets.missing", "No domains were given.", hint="Give --domains FILE or --domain NAME.")
    if len(entries) > MAX_TARGETS:
        raise _too_many(path, len(entries), list(entries.values())[MAX_TARGETS].line)
    targets = tuple(target_of(entry.domain, entry.text) for entry in entries.values())
    return TargetList(targets, given=given, duplicates=given - len(targets), skipped=skipped)


def read_entries(path: Path) -> tuple[dict[str, ListEntry], int]:
    """Return the sites of a list of any length with their first mentions, and the number of entries."""
    entries, given, _ = _read(path, _HINT, skip_invalid=False)
    return entries, given


def _typed_entries(typed: Sequence[str]) -> tuple[dict[str, ListEntry], int]:
    """Return the sites of the command line with their first mentions, and the number of entries."""
    found: dict[str, ListEntry] = {}
    entries = [part for given in typed for part in _parts(given)]
    for given in entries:
        text = clean(given)
        domain = read_domain(text)
        if isinstance(domain, BadEntry):
            message = f"--domain: {quoted(given)} is not a domain: it {domain.why}."
            raise UserError("targets.bad_domain", message, hint=_HINT)
        found.setdefault(site_of(domain.host), ListEntry(0, domain, text))
    return found, len(entries)


def _parts(given: str) -> list[str]:
    """Split an option with several domains; a URL with a comma is not split."""
    parts = [part for part in _LISTED.split(given) if part]
    several = len(parts) > 1 and not _looks_like_domain(given)
    return parts if several and any(_looks_like_domain(part) for part in parts) else [given]


def _read(path: Path, hint: str, *, skip_invalid: bool) -> tuple[dict[str, ListEntry], int, tuple[SkippedLine, ...]]:
    read = read_list(path, "targets", EXPECTED)
    cells = read_cells(read, _looks_like_domain) if isinstance(read, str) else cells_of_sheet(read, _looks_like_domain)
    if not cells:
        message = f"{name_of(path)} has no domains in it, only blank lines, comments or a header."
        raise UserError("targets.empty", message, hint=EXPECTED)
    found: dict[str, ListEntry] = {}
    refused: list[tuple[Cell, BadEntry]] = []
    for cell in cells:
        text = clean(cell.text)
        domain = BadEntry(cell.text.why) if isinstance(cell.text, UnusableCell) else read_domain(text)
        if isinstance(domain, BadEntry):
            refused.append((cell, domain))
            continue
        site = site_of(domain.host)
        if site not in found:
            found[site] = ListEntry(cell.line, domain, text)
    if refused and not found and (named := titles(read)):
        columns = ", ".join(quoted(cell) for cell in named)
        raise UserError(
            "targets.no_column",
            f"{name_of(path)} has no column of domains: its columns are {columns}.",
            hint="Expected one called domain, url or website, with entries like example.com.",
        )
    if refused and not skip_invalid:
        hint = hint if found else _HINT
        raise _bad_domain(path, refused, hint)
    if refused and not found:
        message = f"{name_of(path)} has no valid domain in it: all {len(refused):,} lines would be skipped."
        raise UserError("targets.none_valid", message, hint=EXPECTED)
    skipped = tuple(SkippedLine(cell.line, cell.text.strip(), refusal.why) for cell, refusal in refused)
    return found, len(cells) - len(refused), skipped


def processing_sentence(loaded: TargetList) -> str:
    """`Processing 4,873 domains`, for a list without duplicates."""
    return f"Processing {len(loaded.targets):,} domain{'' if len(loaded.targets) == 1 else 's'}"


def removed_sentence(loaded: TargetList) -> str:
    """`Removed 127 duplicates, processing 4,873 unique domains`."""
    removed, kept = loaded.duplicates, len(loaded.targets)
    return (
        f"Removed {removed:,} duplicate{'' if removed == 1 else 's'}, "
        f"processing {kept:,} unique domain{'' if kept == 1 else 's'}"
    )


def _looks_like_domain(text: str) -> bool:
    return isinstance(read_domain(clean(text)), Domain)


def _bad_domain(path: Path, refused: list[tuple[Cell, BadEntry]], hint: str) -> UserError:
    (cell, refusal), more = refused[0], len(refused) - 1
    message = f"{name_of(path)}, line {cell.line}: {quoted(cell.text.strip())} is not a domain: it {refusal.why}."
    if more:
        lines = ", ".join(f"{other.line:,}" for other, _ in refused[1:6]) + (", ..." if more > 5 else "")
        message += f" {more:,} more {'entry is' if more == 1 else 'entries are'} no domain either (line {lines})."
    return UserError("targets.bad_domain", message, hint=hint)


def _too_many(path: Path | None, found: int, line: int) -> UserError:
    where = f" in {name_of(path)}" if path else ""
    passed = f", passed at line {line:,}" if line else ""
    message = f"Too many domains{where}: {found:,} (limit {MAX_TARGETS:,}{passed})."
    return UserError("targets.too_many", message, hint="Split the file and start a job for each part.")


def read_exclusions(path: Path) -> frozenset[str]:
    """Read a suppression list, in the format of a list of domains and of any length."""
    entries, _ = read_entries(path)
    return frozenset(entries)


def leave_out(loaded: TargetList, excluded: frozenset[str], path: Path) -> TargetList:
    """Remove excluded domains from a list. Raises UserError if nothing is left."""
    left = tuple(target for target in loaded.targets if not is_covered(target.host, excluded))
    if not left:
        message = f"Nothing is left to visit: {name_of(path)} names every domain of the list."
        raise UserError("targets.all_excluded", message, hint="Check that --exclude-domains is the right file.")
    return replace(loaded, targets=left)


def left_out_sentence(before: TargetList, after: TargetList, path: Path) -> str:
    """`Left out 37 domains of suppress.txt`."""
    count = len(before.targets) - len(after.targets)
    return f"Left out {count:,} domain{'' if count == 1 else 's'} of {name_of(Path(path.name))}"
