"""A server that lost its connections while another version changed the schema."""

import asyncio
from pathlib import Path

from tests.faults_database.stage import TOPOLOGIES, stage


async def test_server_ends_once_the_schema_is_of_another_version(tmp_path: Path) -> None:
    async with stage(TOPOLOGIES[0], tmp_path) as made:
        [server] = made.servers
        ended = asyncio.create_task(server.ended())
        made.cut()
        await asyncio.to_thread(made.cluster.execute, "UPDATE ebb.ebb_schema SET version = version + 1")
        async with asyncio.timeout(60):
            assert await ended == 1
        assert "Another version of Ebb has changed the database" in server.log.read_text()
