"""Every account spends from a budget of its own: what all of them had spent from one is dealt out."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_PARTS = ("credits", "micros", "bytes")
# Whoever has spent nothing since has no row, and gets one with the first request.
_SHARES = """
    SELECT jobs.account_id AS account, substr(rows.day, 1, 7) AS period,
        sum(rows.credits) AS credits, sum(rows.micros) AS micros, sum(rows.bytes) AS bytes
    FROM {table} AS rows JOIN jobs ON jobs.id = rows.job_id
    WHERE jobs.account_id <> 'default'
    GROUP BY jobs.account_id, substr(rows.day, 1, 7)
"""
_OPEN = """
    INSERT INTO budgets (scope, subject, period) VALUES ('account', :account, :period) ON CONFLICT DO NOTHING
"""


def upgrade() -> None:
    bind = op.get_bind()
    for table, kind in (("expenses", "spent"), ("reservations", "reserved")):
        moved = ", ".join(f"{kind}_{part} = {kind}_{part} {{sign}} :{part}" for part in _PARTS)
        move = f"UPDATE budgets SET {moved} WHERE scope = 'account' AND subject = :account AND period = :period"  # noqa: S608
        for row in bind.execute(sa.text(_SHARES.format(table=table))).mappings().all():
            share = {name: int(value) if name in _PARTS else value for name, value in row.items()}
            bind.execute(sa.text(move.format(sign="-")), {**share, "account": "default"})
            bind.execute(sa.text(_OPEN), {"account": share["account"], "period": share["period"]})
            bind.execute(sa.text(move.format(sign="+")), share)
