"""Two roles for Postgres: one that owns the tables and changes them, one that only works with the rows."""

import re

from gossamer.errors import UserError

_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")

_SQL = """\
-- Roles for gossamer. Run it in gossamer's database, as a role that may create roles:
--     gossamer db roles | psql --single-transaction DATABASE
-- It may be run again at any time, and should be after the first 'gossamer db upgrade'.
--
-- {owner}: owns the tables. Only 'gossamer db upgrade' is run with it.
-- {worker}: reads and writes rows, and nothing else. Everything else is run with it.
-- Neither gets a password here: set one with \\password, or let pg_hba.conf say how they come in.

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{owner}') THEN
        CREATE ROLE {owner} LOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{worker}') THEN
        CREATE ROLE {worker} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION;
    END IF;
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
    EXECUTE format('GRANT CONNECT, TEMPORARY ON DATABASE %I TO {owner}', current_database());
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO {worker}', current_database());
END
$$;

REVOKE ALL ON SCHEMA {schema} FROM PUBLIC;
GRANT USAGE, CREATE ON SCHEMA {schema} TO {owner};
GRANT USAGE ON SCHEMA {schema} TO {worker};

-- What is there, and what later upgrades and new months bring.
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {worker};
ALTER DEFAULT PRIVILEGES FOR ROLE {owner} IN SCHEMA {schema}
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {worker};
ALTER DEFAULT PRIVILEGES FOR ROLE {owner} IN SCHEMA {schema}
    GRANT EXECUTE ON FUNCTIONS TO {worker};

-- Which revision the tables are at is the owner's to say. Partitions are made and dropped by functions of the owner.
DO $$
DECLARE
    name text;
BEGIN
    IF to_regclass('{schema}.alembic_version') IS NOT NULL THEN
        REVOKE INSERT, UPDATE, DELETE ON {schema}.alembic_version FROM {worker};
    END IF;
    FOR name IN
        SELECT p.oid::regprocedure::text FROM pg_proc p
        WHERE p.pronamespace = '{schema}'::regnamespace AND left(p.proname, 9) = 'gossamer_'
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO {worker}', name);
    END LOOP;
END
$$;
"""


def roles_sql(owner: str, worker: str, schema: str) -> str:
    """Return the SQL an administrator runs. Only simple names are allowed: the same with and without quotes."""
    for option, name in (("--owner", owner), ("--worker", worker), ("--schema", schema)):
        if not _NAME.fullmatch(name):
            raise UserError(
                "roles.name",
                f"{option} {name!r} cannot be used.",
                hint="Take small letters, digits and _, beginning with a letter.",
            )
    if owner == worker:
        raise UserError(
            "roles.same",
            f"{owner!r} cannot be both the owner of the tables and who works with them.",
            hint="Give --owner and --worker different names.",
        )
    return _SQL.format(owner=owner, worker=worker, schema=schema)
