"""Databases: connections, transactions, tables, schema, backups."""
