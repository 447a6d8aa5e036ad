"""The engine room of SQL: databases, transactions, tables, schema."""
