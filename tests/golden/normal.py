"""Normalise transcripts: replace what differs between two runs, and reduce a text to its facts."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[1-9a-f][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b")

# In this order: longer forms of a time before those that are a part of them.
_EXACT = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)", "<time>"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}", "<time to the ms      >"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "<time             >"),
        (r"\b\d\d:\d\d:\d\d\b", "<clock >"),
        (r"\b20\d\d-\d\d-\d\d\b", "<date   >"),
        (r"\(20\d\d-\d\d\)", "(<month>)"),
        (r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d\b", "<day >"),
        # With its year where that is another one than today's.
        (r"\b(until|on) <(?:day|date) +>", r"\1 <date>"),
        (r"\b[\d,.]+ (?:s|min|h|ms|seconds|minutes) ago\b", "<ago>"),
        (r"\b(?:just now|a moment ago)\b", "<ago>"),
        (r"\b127\.0\.0\.1:\d+|\blocalhost:\d+", "<address>"),
        (r"\b[\d,.]+ (pages|domains|sites)/(min|hour)\b", r"<speed> \1/\2"),
        (r"\bAveraging [\d,.]+ ", "Averaging <speed> "),
        (r"\b\d[\d,.]* (?:ms|µs)\b", "<duration>"),
        (r"\b\d+\.\d+ s\b", "<duration>"),
        (r"\b[0-9a-f]{64}\b", "<sha256>"),
        (r"\b[0-9a-f]{32}\b", "<random>"),
        (r"\bhome-[0-9a-f]{8}(?:/\d+-\d+)?\b", "<process>"),
        (r"\bprocess \d+\b", "process <pid>"),
        (r"\brevision \d{4}\b", "revision <head>"),
        # Where is chance, for jobs that are quicker than polite.
        (r"smallest gap <duration>\s+\([\w.-]+\);\s+", "smallest gap <duration> (<domain>); "),
        (r"\bgsk_[\w-]+", "<key>"),
        (r"\bwhsec_[\w+/=-]+", "<secret>"),
        (r"\bmsg_[0-9a-f]{32}\b", "<message>"),
        (r"\bexpires=\d+", "expires=<seconds>"),
        (r"\b[0-9a-f]{8}\b", "<short >"),
    )
)

# Figures of speed and the like in JSON, by their names.
_MEASURED = re.compile(
    r"(?:.*_per_(?:hour|minute)|.*_seconds|.*_ms|seconds|ms|duration|last_activity|error_rate|smallest_gap_domain|next_cursor)$"
)


@dataclass(slots=True)
class Normal:
    """Replaces ids, times, places and speeds. `known` are texts with a name of their own: folders, ids of jobs."""

    known: dict[str, str] = field(default_factory=dict)

    def name(self, text: str, label: str) -> None:
        """Replace a text wherever it stands from now on."""
        self.known[text] = label

    def job(self, job: str, label: str) -> None:
        """Name a job by its id, the short form and the form without dashes."""
        self.known[job] = f"<{label}>"
        self.known[job.replace("-", "")] = f"<{label} without dashes>"
        self.known[job[-8:]] = f"<{label:<6.6}>"  # as wide as the short form, for columns

    def text(self, text: str) -> str:
        for known in sorted(self.known, key=len, reverse=True):
            text = text.replace(known, self.known[known])
        text = _UUID.sub("<uuid>", text)
        for pattern, replacement in _EXACT:
            text = pattern.sub(replacement, text)
        return text

    def json(self, text: str) -> str:
        """The same for JSON, with figures of speed left out by their names; one key per line."""
        try:
            value = json.loads(text)
        except ValueError:
            return self.text(text)
        return self.text(json.dumps(_without_measured(value), indent=2, ensure_ascii=False)) + "\n"


def _without_measured(value: Any) -> Any:
    match value:
        case dict():
            return {
                name: "<measured>" if _MEASURED.match(name) and inner is not None else _without_measured(inner)
                for name, inner in value.items()
            }
        case list():
            return [_without_measured(inner) for inner in value]
    return value


def squeeze(text: str) -> str:
    """Columns without their widths: for tables whose widths depend on what was measured."""
    return "\n".join(re.sub(r"(?<=\S) {2,}", "  ", line).rstrip() for line in text.split("\n"))


def without_progress(text: str) -> str:
    """Without the lines a live display prints where there is no terminal: how many is a matter of time."""
    return re.sub(r"(?m)^\d.* pages/min.*\n", "", text)


# --- the level of facts ---

_FACT = re.compile(
    r"""
      <[\w ]+>                              # what was normalised
    | --?[a-z][\w-]*                        # options
    | https?://\S+ | [\w.-]+\.test\b\S*     # addresses
    | \$?\d[\d,.:%/x-]*\d%? | \$?\d%?       # figures
    | \b[A-Z][A-Z_|]{2,}\b                  # placeholders of a help text, codes, settings
    | \b[\w-]+\.(?:csv|json|jsonl|xlsx|html|txt|parquet|db|log)\b
    | \bgossamer(?:\ [a-z][a-z-]+)+         # commands
    """,
    re.VERBOSE,
)
_HEAD_CELL = re.compile(r"[A-Z][A-Za-z.]*(?: [A-Za-z]+){0,2}")


_JSON = re.compile(r"^[\[{]$", re.MULTILINE)
# What they hold is prose.
_SENTENCES = ("detail", "hint", "command_hint", "message", "description", "title")


def facts(text: str, sentences: Iterable[re.Pattern[str]] = ()) -> list[str]:
    """What must not change when wording does: JSON and CSV whole, else figures, columns, options, addresses, commands
    and the quoted sentences."""
    found = [f"says: {sentence.pattern}" for sentence in sentences if sentence.search(text)]
    if begin := _JSON.search(text):
        try:
            value, end = json.JSONDecoder().raw_decode(text, begin.start())
        except ValueError:
            pass
        else:
            whole = json.dumps(_facts_of(value), sort_keys=True, ensure_ascii=False)
            return [*found, *facts(text[: begin.start()]), whole, *facts(text[end:])]
    for line in text.splitlines():
        cells = re.split(r" {2,}", line.strip())
        if len(cells) >= 3 and all(_HEAD_CELL.fullmatch(cell) for cell in cells):
            found.append(f"columns: {', '.join(cells)}")
        elif line.count(",") >= 3 and " " not in line:
            found.append(f"row: {line}")
        else:
            found += [one.strip(".,:;'") for one in _FACT.findall(line)]
    return found


def _facts_of(value: Any) -> Any:
    match value:
        case dict():
            return {
                name: facts(inner) if name in _SENTENCES and isinstance(inner, str) else _facts_of(inner)
                for name, inner in value.items()
            }
        case list():
            return [_facts_of(inner) for inner in value]
    return value


def openapi_facts(value: Any) -> Any:
    """A schema without its prose."""
    prose = ("description", "summary", "title")
    match value:
        case dict():
            return {
                name: openapi_facts(inner)
                for name, inner in value.items()
                # A property of a schema may have one of these names; its value is a mapping then.
                if not (name in prose and isinstance(inner, str))
            }
        case list():
            return [openapi_facts(inner) for inner in value]
    return value
