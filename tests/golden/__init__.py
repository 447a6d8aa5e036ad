"""Golden transcripts: what commands print and the API answers, compared with files in the repository.

The files in `transcripts` are written by `scripts/golden` and read in review. `LEVEL` says how closely a test compares
them: `exact` is byte for byte (after ids, times, ports and paths have been replaced), `facts` compares numbers,
columns, JSON, options, names of commands, exit codes and the sentences that requirements quote, so that the wording
around them may change.
"""

from pathlib import Path
from typing import Literal

TRANSCRIPTS = Path(__file__).parent / "transcripts"

Level = Literal["exact", "facts"]

LEVEL: Level = "exact"
