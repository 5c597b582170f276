"""PostgreSQL as the database of the conversations."""
