"""The keys in the database that the settings name, counted without a server."""

from app.config.settings import Settings
from app.storage.key_counts import KeyCounts
from app.storage.sqlite import key_counts as in_file


def counted_keys(settings: Settings) -> KeyCounts:
    """Count the keys. Raise EbbError if PostgreSQL cannot be read."""
    if not settings.database_url:
        return in_file.count_keys(settings.database)
    # A server on SQLite starts without psycopg, which is an extra.
    from app.storage.postgres import key_counts as in_postgres

    return in_postgres.count_keys(settings.database_url)
