"""The formats of export there are, by the name people ask for them."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from gossamer.errors import UserError
from gossamer.exports.encoding import Draft
from gossamer.exports.parquet import encode_parquet, refuse_without_library
from gossamer.exports.text_files import encode_csv, encode_json, encode_jsonl
from gossamer.exports.xlsx import encode_xlsx
from gossamer.recipes.base import Lines

Encode: TypeAlias = Callable[[Lines, Draft], AsyncIterator[bytes]]


@dataclass(frozen=True, slots=True)
class Format:
    """One way to write lines into a file."""

    name: str  # also the ending of the file
    encode: Encode
    whole: bool = False  # all columns unless some are asked for, not only the usual ones
    keyed: bool = False  # nested as the table says
    binary: bool = False  # no text
    values: bool = False  # holds whatever JSON can


FORMATS: Mapping[str, Format] = {
    one.name: one
    for one in (
        Format("csv", encode_csv),
        Format("json", encode_json, keyed=True, values=True),
        Format("jsonl", encode_jsonl, whole=True, values=True),
        Format("xlsx", encode_xlsx, binary=True),
        Format("parquet", encode_parquet, whole=True, binary=True),
    )
}


def formats_named(text: str) -> tuple[Format, ...]:
    """`csv,json` as the formats of these names, each once."""
    names = dict.fromkeys(name.strip().lower() for name in text.split(",") if name.strip())
    unknown = next((name for name in names if name not in FORMATS), None if names else text)
    if unknown is not None:
        known = ", ".join(FORMATS)
        raise UserError(
            "export.format", f"{unknown!r} is not a format.", hint=f"Use --format with one or more of {known}."
        )
    if "parquet" in names:
        refuse_without_library()
    return tuple(FORMATS[name] for name in names)


def format_of_file(path: Path) -> Format:
    """By the ending of a file; CSV if it has none."""
    ending = path.suffix.lower().removeprefix(".")
    if ending and ending not in FORMATS:
        raise UserError(
            "export.format",
            f"{path.name} does not end like one of the formats there are.",
            hint=f"Let it end in one of {', '.join(FORMATS)}, or say with --format what it is to be.",
        )
    return FORMATS[ending or "csv"]


def refuse_other_ending(path: Path, form: Format) -> None:
    """Raise UserError for a file whose ending names another format than the one it is to get."""
    ending = path.suffix.lower().removeprefix(".")
    if ending in FORMATS and ending != form.name:
        raise UserError(
            "export.format",
            f"{path.name} ends like {ending}, and --format says {form.name}.",
            hint=f"Let it end in .{form.name}, or give --format {ending}.",
        )
