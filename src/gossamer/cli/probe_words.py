"""What `--probe` says, whoever looks."""

from gossamer.cli import words
from gossamer.model.estimate import Probed

ALL_MET = "All domains were met before, so no homepage was looked at."


def looked(found: Probed) -> str:
    if not found.asked:
        return "None of them could be looked at."
    plain = found.asked - found.climbing - found.gone
    parts = [f"{plain:,} can be read with a plain request", f"{found.climbing:,} need more than that"]
    if found.gone:
        parts.append(f"{found.gone:,} cannot be read at all")
    return f"Looked at {words.several(found.asked, 'homepage')}: {', '.join(parts)}"
