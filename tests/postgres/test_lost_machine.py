"""A server whose machine loses its power: its sessions must not hold their locks for hours."""

from urllib.parse import quote

from app.storage.store import Store
from tests.postgres.cluster import SCHEMA, Clusters

ADDRESS = "127.83.12.7"
"""Address of this machine at which no other PostgreSQL listens."""

MOST_SECONDS = 20

SETTINGS = "current_setting('tcp_keepalives_idle'), current_setting('tcp_keepalives_interval'), "
SETTINGS += "current_setting('tcp_keepalives_count'), current_setting('tcp_user_timeout')"
HELD = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock' AND pid = pg_backend_pid()"


async def test_postgres_notices_a_lost_machine_within_20_s() -> None:
    """Read what the network does with the session that keeps other versions from starting."""
    with Clusters.opened() as clusters:
        clusters.new(f"listen_addresses={ADDRESS}")
        options = quote(f"-csearch_path={SCHEMA}")
        store = await Store.open_postgres(f"postgresql://ebb@{ADDRESS}/postgres?options={options}")
        row = await store.database.write(
            lambda connection: connection.fetch_one(f"SELECT {SETTINGS} WHERE ({HELD}) = 1")
        )
        await store.close()
    assert row is not None
    idle, interval, count, unanswered = (int(str(value).removesuffix("ms").removesuffix("s")) for value in row)
    assert 0 < idle + interval * count <= MOST_SECONDS
    assert 0 < unanswered <= MOST_SECONDS * 1000
