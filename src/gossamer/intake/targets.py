"""Stage one of a job: from a list of domains in a file to the sites that will be visited, each once."""

from dataclasses import dataclass
from pathlib import Path

from gossamer.errors import UserError
from gossamer.intake.columns import Cell, read_cells
from gossamer.intake.domain import Domain, Refusal, clean, read_domain, target_of
from gossamer.intake.textfile import name_of, quoted, read_text
from gossamer.model.job import Target
from gossamer.model.url import site_of

MAX_TARGETS = 50_000

EXPECTED = "Expected one domain per line, or CSV with a 'domain' column."


@dataclass(frozen=True, slots=True)
class TargetList:
    """The sites of a list in the order they were first named: of `given` entries, `duplicates` were left out."""

    targets: tuple[Target, ...]
    given: int
    duplicates: int


@dataclass(frozen=True, slots=True)
class Entry:
    """Where and how a list first names a site."""

    line: int
    domain: Domain
    text: str


def read_targets(path: Path) -> TargetList:
    """Read a list of domains. All of it is read or none: the first line that names no site is a `UserError`."""
    entries, given = read_entries(path)
    if len(entries) > MAX_TARGETS:
        raise _too_many(path, len(entries), list(entries.values())[MAX_TARGETS].line)
    targets = tuple(target_of(entry.domain, entry.text) for entry in entries.values())
    return TargetList(targets, given=given, duplicates=given - len(targets))


def read_entries(path: Path) -> tuple[dict[str, Entry], int]:
    """The sites of a list of any length, each as it was first named, and how many entries there were."""
    cells = read_cells(read_text(path, "targets", EXPECTED), _looks_like_domain)
    if not cells:
        message = f"{name_of(path)} has no domains in it, only blank lines, comments or a header."
        raise UserError("targets.empty", message, hint=EXPECTED)
    found: dict[str, Entry] = {}
    refused: list[tuple[Cell, Refusal]] = []
    for cell in cells:
        text = clean(cell.text)
        domain = read_domain(text)
        if isinstance(domain, Refusal):
            refused.append((cell, domain))
            continue
        site = site_of(domain.host)
        if site not in found:
            found[site] = Entry(cell.line, domain, text)
    if refused:
        raise _bad_domain(path, refused)
    return found, len(cells)


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


def _bad_domain(path: Path, refused: list[tuple[Cell, Refusal]]) -> UserError:
    (cell, refusal), more = refused[0], len(refused) - 1
    message = f"{name_of(path)}, line {cell.line}: {quoted(cell.text.strip())} is not a domain: it {refusal.why}."
    if more:
        lines = ", ".join(f"{other.line:,}" for other, _ in refused[1:6]) + (", ..." if more > 5 else "")
        message += f" {more:,} more {'entry is' if more == 1 else 'entries are'} no domain either (line {lines})."
    return UserError(
        "targets.bad_domain", message, hint="Expected a name like example.com or an address like https://example.com/."
    )


def _too_many(path: Path, found: int, line: int) -> UserError:
    message = (
        f"{name_of(path)}, line {line:,}: one domain more than the {MAX_TARGETS:,} a job takes ({found:,} in the file)."
    )
    return UserError("targets.too_many", message, hint="Split the file and start a job for each part.")
