"""The SQLite file: its connections, schema, full-text index and copies. Only this package imports sqlite3."""
