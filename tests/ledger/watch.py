"""Triggers that look at the ledger at every instant: each change of a budget, a reservation or a charge.

They believe nobody: what a job has reserved and spent is added up from the rows themselves, and written down. A change
after which that is above the cap is refused by the database, and so is one that leaves less in the budget than in the
rows. Postgres looks at each transaction as a whole when it commits, and the budget must say just what the rows do then.
"""

from sqlalchemy import text

from gossamer.db.transactions import Tx

_LOG = "CREATE TABLE watched (number {serial} PRIMARY KEY, held bigint, booked bigint, said bigint)"
_POSTGRES = """
CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    job uuid := CASE TG_OP WHEN 'DELETE' THEN OLD.job_id ELSE NEW.job_id END;
    held bigint := (SELECT coalesce(sum(credits), 0) FROM reservations WHERE job_id = job);
    booked bigint := (SELECT coalesce(sum(credits), 0) FROM charges WHERE job_id = job);
    said bigint := (SELECT reserved_credits + spent_credits FROM budgets WHERE job_id = job);
    most bigint := (SELECT cap_credits FROM budgets WHERE job_id = job);
BEGIN
    IF job IS NULL THEN RETURN NULL; END IF;
    INSERT INTO watched (held, booked, said) VALUES (held, booked, said);
    IF held + booked > most THEN RAISE EXCEPTION 'above the cap: % held, % booked', held, booked; END IF;
    IF held + booked <> said THEN RAISE EXCEPTION 'the budget says %, the rows % and %', said, held, booked; END IF;
    RETURN NULL;
END $$
"""
_AT_COMMIT = """
CREATE CONSTRAINT TRIGGER watch_{table} AFTER INSERT OR UPDATE OR DELETE ON {table}
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION watch()
"""
_SQLITE = """
CREATE TRIGGER watch_{table} AFTER {change} ON {table}
WHEN NEW.job_id IS NOT NULL
BEGIN
    INSERT INTO watched (held, booked, said)
    SELECT
        (SELECT coalesce(sum(credits), 0) FROM reservations WHERE job_id = NEW.job_id),
        (SELECT coalesce(sum(credits), 0) FROM charges WHERE job_id = NEW.job_id),
        reserved_credits + spent_credits
    FROM budgets WHERE job_id = NEW.job_id;
    SELECT RAISE(ABORT, 'above the cap')
    FROM watched JOIN budgets ON job_id = NEW.job_id
    WHERE number = last_insert_rowid() AND max(held + booked, said) > cap_credits;
    SELECT RAISE(ABORT, 'the budget says less than the rows')
    FROM watched
    WHERE number = last_insert_rowid() AND held + booked > said;
END
"""


def begin_watch(tx: Tx) -> None:
    """In a database of a trial, before anything is spent."""
    if tx.dialect.row_locks:
        tx.run(text(_LOG.format(serial="bigserial")))
        tx.conn.exec_driver_sql(_POSTGRES)
        for table in ("budgets", "reservations", "charges"):
            tx.conn.exec_driver_sql(_AT_COMMIT.format(table=table))
        return
    tx.run(text(_LOG.format(serial="integer")))
    for table, change in (("budgets", "UPDATE"), ("reservations", "INSERT"), ("charges", "INSERT")):
        tx.conn.exec_driver_sql(_SQLITE.format(table=table, change=change))


def watched(tx: Tx) -> tuple[int, int]:
    """How often somebody looked, and the most that was reserved and spent at any of these moments."""
    row = tx.run(text("SELECT count(*) AS looks, max(held + booked) AS most FROM watched")).one()
    return int(row.looks), int(row.most)
