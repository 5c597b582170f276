"""Connections to a standby are refused: it may return old rows, and takes no writes."""

import psycopg
import pytest

from app.storage.postgres.limits import Reach, with_network_limits
from tests.postgres.cluster import Clusters


async def test_no_connection_is_made_to_a_standby() -> None:
    with Clusters.opened() as clusters:
        primary = clusters.new()
        standby = clusters.standby(primary)
        Reach().connect(primary.url).close()
        with pytest.raises(psycopg.OperationalError, match="hot standby"):
            Reach().connect(standby.url)
        # As the connection for notices is made.
        with pytest.raises(psycopg.OperationalError, match="hot standby"):
            await psycopg.AsyncConnection.connect(with_network_limits(standby.url))
