"""Tables in monthly partitions on Postgres: for revisions to call. A job's id tells when the job was created.

Later partitions are made and dropped by functions in the database, which run with the rights of the tables' owner. So
the role that works with the rows needs no right to change tables.
"""

from sqlalchemy import Connection, text

# A transaction that waits for the lock of a table blocks all that come after it, so it does not wait for long.
_AS_OWNER = "SECURITY DEFINER SET search_path = {schema}, pg_temp SET timezone = 'UTC' SET lock_timeout = '1s'"

# What this owner has partitioned by job: a table joins by being made so.
_TABLES = """
    SELECT c.relname::text
    FROM pg_class c
    JOIN pg_partitioned_table p ON p.partrelid = c.oid AND p.partstrat = 'r' AND p.partnatts = 1
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = p.partattrs[0] AND a.attname = 'job_id'
    WHERE c.relnamespace = current_schema()::regnamespace
      AND pg_get_userbyid(c.relowner) = current_user
    ORDER BY c.relname
"""

_FUNCTIONS = {
    "gossamer_first_id(timestamptz)": """
    CREATE FUNCTION gossamer_first_id(moment timestamptz) RETURNS uuid
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
        SELECT rpad(lpad(to_hex((extract(epoch FROM moment) * 1000)::bigint), 12, '0'), 32, '0')::uuid
    $$
    """,
    "gossamer_month_of(uuid)": """
    CREATE FUNCTION gossamer_month_of(id uuid) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
        SELECT date_trunc(
            'month', to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0)
        )
    $$
    """,
    # Attached, not created in its place: that would lock all of the table, and this only the default partition.
    # Rows that came before it are moved into it.
    "gossamer_add_partition(text, timestamptz)": """
    CREATE FUNCTION gossamer_add_partition(parent text, month timestamptz) RETURNS text
    LANGUAGE plpgsql SET search_path = {schema}, pg_temp SET timezone = 'UTC' AS $$
    DECLARE
        strays text := parent || '_default';
        name text := parent || to_char(month, '_YYYY_MM');
        low uuid := gossamer_first_id(month);
        high uuid := gossamer_first_id(month + interval '1 month');
    BEGIN
        EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', strays);
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', name, parent);
        EXECUTE format('INSERT INTO %I SELECT * FROM %I WHERE job_id >= %L AND job_id < %L', name, strays, low, high);
        EXECUTE format('DELETE FROM %I WHERE job_id >= %L AND job_id < %L', strays, low, high);
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, name, low, high);
        RETURN name;
    END
    $$
    """,
    # One a call, so that a transaction holds the locks of one table only: its name, nothing if none is missing, and
    # '' if somebody is in the way. Rows without a partition of their own get one, if there can be jobs of their time.
    "gossamer_make_partition(integer)": """
    CREATE FUNCTION gossamer_make_partition(ahead integer) RETURNS text
    LANGUAGE plpgsql {as_owner} AS $$
    DECLARE
        this_month timestamptz := date_trunc('month', clock_timestamp());
        last timestamptz;
        parent text;
        month timestamptz;
    BEGIN
        IF ahead IS NULL OR ahead NOT BETWEEN 0 AND 12 THEN
            RAISE EXCEPTION 'partitions are made for 0 to 12 months ahead, not for %', ahead
                USING ERRCODE = 'invalid_parameter_value';
        END IF;
        last := this_month + ahead * interval '1 month';
        PERFORM pg_advisory_xact_lock(hashtext('gossamer partitions'));
        FOR parent IN {tables} LOOP
            EXECUTE format(
                'SELECT m FROM ('
                '    SELECT generate_series($1, $2, interval ''1 month'') '
                '    UNION SELECT gossamer_month_of(job_id) FROM %I WHERE job_id >= $3 AND job_id < $4'
                ') AS wanted (m) '
                'WHERE to_regclass(quote_ident($5 || to_char(m, ''_YYYY_MM''))) IS NULL ORDER BY m LIMIT 1',
                parent || '_default'
            ) INTO month USING this_month, last, gossamer_first_id('2020-01-01'), gossamer_first_id(last), parent;
            IF month IS NOT NULL THEN
                RETURN gossamer_add_partition(parent, month);
            END IF;
        END LOOP;
        RETURN NULL;
    EXCEPTION WHEN lock_not_available THEN
        RETURN '';
    END
    $$
    """,
    "gossamer_strays()": """
    CREATE FUNCTION gossamer_strays() RETURNS SETOF text
    LANGUAGE plpgsql STABLE {as_owner} AS $$
    DECLARE
        parent text;
        found_one boolean;
    BEGIN
        FOR parent IN {tables} LOOP
            EXECUTE format('SELECT EXISTS (SELECT FROM %I)', parent || '_default') INTO found_one;
            IF found_one THEN
                RETURN NEXT parent;
            END IF;
        END LOOP;
    END
    $$
    """,
    # The same answers. What stays of deleted jobs, a few rows of their own history, stays in a table of its size.
    "gossamer_drop_partition()": """
    CREATE FUNCTION gossamer_drop_partition() RETURNS text
    LANGUAGE plpgsql {as_owner} AS $$
    DECLARE
        parent text;
        name text;
        month timestamptz;
        low uuid;
        high uuid;
        has_rows boolean;
    BEGIN
        PERFORM pg_advisory_xact_lock(hashtext('gossamer partitions'));
        FOR parent IN {tables} LOOP
            FOR name IN
                SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                WHERE i.inhparent = quote_ident(parent)::regclass
                  AND left(c.relname, length(parent)) = parent
                  AND substr(c.relname, length(parent) + 1) ~ '^_[0-9]{{4}}_[0-9]{{2}}$'
                ORDER BY c.relname
            LOOP
                month := to_timestamp(right(name, 7), 'YYYY_MM');
                low := gossamer_first_id(month);
                high := gossamer_first_id(month + interval '1 month');
                CONTINUE WHEN month >= date_trunc('month', clock_timestamp())
                    OR EXISTS (
                        SELECT FROM jobs WHERE id >= low AND id < high
                        AND (state <> 'archived' OR hidden_at IS NOT NULL)
                    );
                EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', parent);
                EXECUTE format('SELECT EXISTS (SELECT FROM %I)', name) INTO has_rows;
                IF has_rows THEN
                    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', name || '_kept', parent);
                    EXECUTE format('INSERT INTO %I SELECT * FROM %I', name || '_kept', name);
                    EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', parent, name);
                    EXECUTE format(
                        'ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                        parent, name || '_kept', low, high
                    );
                END IF;
                EXECUTE format('DROP TABLE %I', name);
                RETURN name;
            END LOOP;
        END LOOP;
        RETURN NULL;
    EXCEPTION WHEN lock_not_available THEN
        RETURN '';
    END
    $$
    """,
}


def add_functions(connection: Connection) -> None:
    """Create the functions that make and drop partitions; only their owner may call them until it grants more."""
    schema = connection.execute(text("SELECT quote_ident(current_schema())")).scalar_one()
    as_owner = _AS_OWNER.format(schema=schema)
    for name, body in _FUNCTIONS.items():
        connection.exec_driver_sql(body.format(schema=schema, as_owner=as_owner, tables=_TABLES))
        connection.exec_driver_sql(f"REVOKE ALL ON FUNCTION {name} FROM PUBLIC")


def add_partitions(connection: Connection, *tables: str) -> None:
    """Add a default partition and those of three months to new tables, created with `PARTITION BY RANGE (job_id)`.

    All keys of these tables must contain `job_id`.
    """
    for table in tables:
        connection.exec_driver_sql(f"CREATE TABLE {table}_default PARTITION OF {table} DEFAULT")
    while connection.execute(text("SELECT gossamer_make_partition(2)")).scalar():
        continue
