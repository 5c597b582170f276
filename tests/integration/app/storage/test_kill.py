"""Durability of acknowledged writes of the conversation store when its process is killed."""

import asyncio
import signal
import sys
from pathlib import Path

from app.storage.store import Store

WRITER = """
import asyncio, sys
from pathlib import Path
from app.storage.store import Store

async def main():
    store = await Store.open(Path(sys.argv[1]))
    while True:
        print((await store.conversations.create({"title": "x" * 2000})).id, flush=True)

asyncio.run(main())
"""


async def test_acknowledged_conversations_survive_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "conversations.db"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WRITER, str(path), stdout=asyncio.subprocess.PIPE, limit=1 << 20
    )
    assert process.stdout is not None
    async with asyncio.timeout(20):
        acknowledged = [(await process.stdout.readline()).decode().strip() for _ in range(200)]
        process.send_signal(signal.SIGKILL)
        acknowledged += (await process.stdout.read()).decode().split("\n")[:-1]
        await process.wait()
    store = await Store.open(path)
    stored = {conversation.id async for conversation, _ in store.conversations.each()}
    await store.close()
    assert len(acknowledged) >= 200
    assert set(acknowledged) <= stored
