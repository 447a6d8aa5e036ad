"""The keywords of a prospecting job as they are typed: files, standard input, single options."""

from collections.abc import Mapping
from typing import Any

from gossamer.intake.keywords import loaded_sentence, matching_sentence, read_keywords
from gossamer.intake.textfile import skipped_sentence, write_skipped
from gossamer.recipes.base import Typed


def read_lists(values: Mapping[str, Any]) -> Typed:
    """Read the lists of keywords; lines that are not valid are refused, or listed in a file of their own."""
    source, case_sensitive = values["--keywords"], values["--case-sensitive"]
    found = read_keywords(
        source, values["--keyword"] or (), skip_invalid=values["--skip-invalid"], case_sensitive=case_sensitive
    )
    said = [
        loaded_sentence(found, source),
        matching_sentence(case_sensitive=case_sensitive, plurals=values["--plurals"]),
    ]
    if source and found.skipped:
        said.append(skipped_sentence(found.skipped, source, write_skipped(source, "keywords", found.skipped)))
    return Typed({"keywords": list(found.keywords)}, tuple(said), len(found.skipped))
