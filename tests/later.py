"""The program of a later release: the present one with one more revision, which only tests add.

So the present revision is an earlier one, whose databases are upgraded. `Terminal` runs the later program with the
settings of `settings_of`, in commands that are forked (`tests/warm.py`).
"""

import shutil
from pathlib import Path

from gossamer.db import schema

NOW = schema.HEAD
LATER = "9999"
FOLDER = "MIGRATIONS_OF_A_LATER_RELEASE"

_REVISION = """
import os, signal
import sqlalchemy as sa
from alembic import op
revision, down_revision, branch_labels, depends_on = "{later}", "{now}", None, None
def upgrade() -> None:
    op.create_table("remarks", sa.Column("job_id", sa.Text, primary_key=True), sa.Column("remark", sa.Text))
    op.add_column("jobs", sa.Column("shout", sa.Text, nullable=False, server_default=""))
    op.add_column("pages", sa.Column("later", sa.Text))
    op.execute("UPDATE jobs SET shout = upper(name)")
    {ending}
"""


def make_migrations(folder: Path, ending: str = "") -> Path:
    """Write the later release's migrations; `ending` is the last statement of its own revision."""
    shutil.copytree(schema.SCRIPTS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    revision = _REVISION.format(later=LATER, now=NOW, ending=ending)
    (folder / "versions" / f"{LATER}_later.py").write_text(revision)
    return folder


def become(folder: Path) -> None:
    """Turn this process into one of the later program."""
    schema.SCRIPTS, schema.HEAD = folder, LATER


def settings_of(folder: Path) -> dict[str, str]:
    return {FOLDER: str(folder)}
