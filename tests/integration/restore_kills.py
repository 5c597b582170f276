"""Kill `ebb restore` before each of its steps on files, in turn, and print what the next process finds.

    python -m tests.integration.restore_kills FOLDER

Each line of the output is a JSON object: the step, and the titles of the conversations afterwards. A step is an audit
event of Python that names a file in the folder. Each process is forked, so that nothing is imported again.
"""

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import sys
from contextlib import closing
from itertools import count
from pathlib import Path

from app.cli.backup import restore
from app.cli.main import main as ebb
from app.config.settings import Settings
from app.storage.sqlite.restoration import complete_restore
from app.storage.store import Store

STEPS = ("open", "os.rename", "os.remove", "os.mkdir", "tempfile.mkstemp", "sqlite3.connect", "fcntl.flock")


async def make(file: Path, title: str) -> None:
    """Store one conversation."""
    store = await Store.open(file)
    await store.conversations.create({"title": title})
    await store.close()


def leave_log(database: Path) -> None:
    """Write one more conversation into the write-ahead log, as a killed server leaves it."""
    if os.fork() == 0:
        writer = sqlite3.connect(database, isolation_level=None)
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        writer.create_function("segmented", 1, str)
        sql = "INSERT INTO conversation(id, title, created_at, updated_at) VALUES ('c', 'old, in the log', 0, 0)"
        writer.execute(sql)
        os.kill(os.getpid(), signal.SIGKILL)
    os.wait()


def restore_until(step: int, settings: Settings, backup: Path) -> bool:
    """Restore, and be killed before step number `step`; return whether that came."""
    if os.fork() == 0:
        left = step

        def hook(event: str, args: tuple[object, ...]) -> None:
            nonlocal left
            if event in STEPS and any(str(settings.state_dir) in str(arg) for arg in args):
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
        os._exit(restore(settings, backup))
    _, status = os.wait()
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, status
    return os.WIFSIGNALED(status)


def titles(database: Path) -> list[str]:
    """Open the database as a server does, and list its titles."""

    async def read() -> list[str]:
        store = await Store.open(database)
        found = [conversation.title or "" async for conversation, _ in store.conversations.each()]
        await store.close()
        return sorted(found)

    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    return asyncio.run(read())


def main(folder: Path) -> None:
    """Print a line for each step."""
    new = folder / "new"
    new.mkdir()
    asyncio.run(make(new / "conversations.db", "new"))
    backup = folder / "backup.db"
    assert ebb(["backup", str(backup), "--state-dir", str(new)]) == 0
    old = folder / "old"
    old.mkdir()
    asyncio.run(make(old / "conversations.db", "old"))
    leave_log(old / "conversations.db")
    for step in count():
        settings = Settings(state_dir=folder / f"state{step}", cache_dir=folder, secret_file=folder / "secret")
        shutil.copytree(old, settings.state_dir)
        was_killed = restore_until(step, settings, backup)
        complete_restore(settings.database)
        found = titles(settings.database)
        assert ebb(["restore", str(backup), "--state-dir", str(settings.state_dir)]) == 0
        left = sorted(path.name for path in settings.state_dir.iterdir() if path.name.startswith("."))
        kept = sorted(
            titles(path) for path in settings.state_dir.glob("*.before-*") if not path.name.endswith(("-wal", "-shm"))
        )
        print(json.dumps({"step": step, "titles": found, "hidden": left, "kept": kept}))
        if not was_killed:
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]))
