"""`ebb backup` and `ebb restore` on real files, also under concurrent writes."""

import asyncio
import fcntl
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from app.cli.main import main
from app.config.settings import lock_state_dir
from app.storage.connection import DatabaseConnection
from app.storage.sqlite.database import SqliteDatabase
from app.storage.sqlite.migrating import migrations
from app.storage.store import Store
from tests.sizes import MANY_PROCESSES


def run(command: str, file: Path, state_dir: Path) -> int:
    return main([command, str(file), "--state-dir", str(state_dir)])


def titles(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as connection:
        return [row[0] for row in connection.execute("SELECT title FROM conversation ORDER BY title")]


def made(state_dir: Path, *names: str) -> None:
    """Create conversations with these titles, and close the database as a stopping server does."""
    state_dir.mkdir(exist_ok=True)
    asyncio.run(_make(state_dir, names))


async def _make(state_dir: Path, names: Iterable[str]) -> None:
    store = await Store.open(state_dir / "conversations.db")
    for name in names:
        await store.conversations.create({"title": name})
    await store.close()


async def _make_and_delete(state_dir: Path, title: str) -> None:
    store = await Store.open(state_dir / "conversations.db")
    conversation = await store.conversations.create({"title": title})
    await store.close()
    with closing(sqlite3.connect(state_dir / "conversations.db")) as connection:
        # Some builds of SQLite overwrite deleted rows; most leave them in free pages.
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute("DELETE FROM conversation WHERE id = ?", (conversation.id,))
        connection.commit()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_restored_backup_equals_the_original(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state, file = tmp_path / "state", tmp_path / "chats.db"
    made(state, "Tides", "Sea")
    assert run("backup", file, state) == 0
    assert "2 conversations, 0 messages, schema " in capsys.readouterr().out
    made(state, "Later")
    assert run("restore", file, state) == 0
    assert titles(state / "conversations.db") == ["Sea", "Tides"]
    kept = capsys.readouterr().err.strip().rpartition(" ")[2]
    assert titles(Path(kept)) == ["Later", "Sea", "Tides"]
    made(state, "Now")
    assert titles(state / "conversations.db") == ["Now", "Sea", "Tides"]


def test_backup_is_one_private_file_without_deleted_text(tmp_path: Path) -> None:
    state, file = tmp_path / "state", tmp_path / "folder/chats.db"
    file.parent.mkdir(mode=0o755)
    made(state, "kept")
    asyncio.run(_make_and_delete(state, "x" * 20_000 + "to be forgotten"))
    assert run("backup", file, state) == 0
    assert [path.name for path in file.parent.iterdir()] == ["chats.db"]
    assert file.stat().st_mode & 0o777 == 0o600
    assert b"to be forgotten" not in file.read_bytes()
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(migrations()),)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


async def test_backup_under_writes_holds_whole_transactions(tmp_path: Path) -> None:
    """Write pairs of conversations, one pair per transaction, while backups run."""
    state = tmp_path / "state"
    await asyncio.to_thread(made, state)
    database = await SqliteDatabase.open(state / "conversations.db")
    backups = [tmp_path / f"{number}.db" for number in range(5)]
    written = 0
    begun = asyncio.Event()

    def pair(connection: DatabaseConnection) -> None:
        for half in "ab":
            connection.execute(
                "INSERT INTO conversation(id, title, created_at, updated_at) VALUES (?, ?, 0, 0)",
                (f"{written}{half}", "x" * 500),
            )

    async def write() -> None:
        nonlocal written
        while True:
            await database.write(pair)
            written += 1
            if written == 50:
                begun.set()

    writer = asyncio.create_task(write())
    await begun.wait()
    seen, num_written = [], 0
    for file in backups:
        before = written
        status = await asyncio.to_thread(run, "backup", file, state)
        assert status == 0
        num_written += written - before
        with closing(sqlite3.connect(file)) as connection:
            (rows,) = connection.execute("SELECT count(*) FROM conversation").fetchone()
        assert rows % 2 == 0
        assert before <= rows // 2 <= written + 1
        seen.append(rows)
    assert not writer.done()
    writer.cancel()
    await database.close()
    # One backup may end before the disk has confirmed a single write.
    assert num_written > 0
    assert seen == sorted(seen)


def test_backup_replaces_only_an_earlier_backup(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state, file = tmp_path / "state", tmp_path / "chats.db"
    made(state, "one")
    assert run("backup", file, state) == 0
    made(state, "two")
    assert run("backup", file, state) == 0
    assert titles(file) == ["one", "two"]
    (tmp_path / "letter").write_text("Dear Ann")
    for other, words in (
        (tmp_path / "letter", "is not a backup"),
        (tmp_path, "is not a backup"),
        (state / "conversations.db", "is the database of the conversations itself"),
        (tmp_path / "nowhere/chats.db", "No such file"),
    ):
        assert run("backup", other, state) == 1
        assert words in capsys.readouterr().err
    assert (tmp_path / "letter").read_text() == "Dear Ann"


def test_backup_without_conversations_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("backup", tmp_path / "chats.db", tmp_path / "none") == 1
    assert "no conversations yet" in capsys.readouterr().err
    assert not (tmp_path / "chats.db").exists()


def test_restore_is_refused_while_the_server_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state, file = tmp_path / "state", tmp_path / "chats.db"
    made(state, "one")
    assert run("backup", file, state) == 0
    made(state, "two")
    held = lock_state_dir(state)
    assert held is not None
    assert run("restore", file, state) == 1
    assert "stop it (Ctrl-C or SIGTERM), restore, then start it again" in capsys.readouterr().err
    assert titles(state / "conversations.db") == ["one", "two"]
    os.close(held)
    assert run("restore", file, state) == 0


def test_backup_of_a_later_version_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state, file = tmp_path / "state", tmp_path / "chats.db"
    made(state, "one")
    assert run("backup", file, state) == 0
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"PRAGMA user_version = {len(migrations()) + 1}")
    assert run("restore", file, state) == 1
    assert "later version of Ebb" in capsys.readouterr().err
    assert [path.name for path in state.iterdir() if "before" in path.name] == []


@pytest.mark.parametrize("kind", ["missing", "text", "empty", "cut", "foreign", "garbled", "index lost"])
def test_invalid_backup_is_refused_and_nothing_changes(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    state, file = tmp_path / "state", tmp_path / "chats.db"
    made(state, *(f"{number:03} {'x' * 3000}" for number in range(20)))
    assert run("backup", file, state) == 0
    before = titles(state / "conversations.db")
    whole = file.read_bytes()
    match kind:
        case "missing":
            file.unlink()
        case "text":
            file.write_text("hello")
        case "empty":
            file.write_bytes(b"")
        case "cut":
            file.write_bytes(whole[: len(whole) // 2])
        case "foreign":
            file.unlink()
            with closing(sqlite3.connect(file)) as connection:
                connection.execute("CREATE TABLE other(x)")
        case "index lost":
            with closing(sqlite3.connect(file)) as connection:
                connection.execute("PRAGMA writable_schema = ON")
                connection.execute("DELETE FROM sqlite_schema WHERE name = 'conversation_list'")
                connection.commit()
        case "garbled":
            file.write_bytes(whole[:8192] + bytes(4096) + whole[12288:])
    capsys.readouterr()
    assert run("restore", file, state) == 1
    error = capsys.readouterr().err
    assert str(file) in error
    assert "Traceback" not in error
    assert titles(state / "conversations.db") == before
    assert [path.name for path in state.iterdir() if "before" in path.name] == []


def test_restore_sets_aside_the_log_of_a_killed_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state, file = tmp_path / "state", tmp_path / "chats.db"
    made(state, "one")
    assert run("backup", file, state) == 0
    code = (
        "import sqlite3, sys, os\n"
        "c = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "c.execute('PRAGMA wal_autocheckpoint = 0')\n"
        "c.create_function('segmented', 1, str)\n"
        "c.execute(\"INSERT INTO conversation(id, title, created_at, updated_at) VALUES ('c', 'last', 0, 0)\")\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(state / "conversations.db")], check=False, timeout=60)
    assert (state / "conversations.db-wal").stat().st_size > 0
    assert run("restore", file, state) == 0
    kept = Path(capsys.readouterr().err.strip().rpartition(" ")[2])
    assert titles(kept) == ["last", "one"]
    assert titles(state / "conversations.db") == ["one"]


def test_restore_sets_aside_a_damaged_database(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state, file = tmp_path / "state", tmp_path / "chats.db"
    made(state, "one")
    assert run("backup", file, state) == 0
    (state / "conversations.db").write_bytes(b"damaged")
    (state / "conversations.db-wal").write_bytes(b"its log")
    assert run("restore", file, state) == 0
    kept = Path(capsys.readouterr().err.strip().rpartition(" ")[2])
    assert kept.read_bytes() == b"damaged"
    assert kept.with_name(f"{kept.name}-wal").read_bytes() == b"its log"
    assert not (state / "conversations.db-wal").exists()
    assert titles(state / "conversations.db") == ["one"]


def test_backup_is_restored_into_a_missing_state_dir(tmp_path: Path) -> None:
    file = tmp_path / "chats.db"
    made(tmp_path / "state", "one")
    assert run("backup", file, tmp_path / "state") == 0
    shutil.rmtree(tmp_path / "state")
    assert run("restore", file, tmp_path / "state") == 0
    assert titles(tmp_path / "state/conversations.db") == ["one"]
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "state/conversations.db").stat().st_mode & 0o777 == 0o600


@MANY_PROCESSES
def test_restore_killed_at_any_step_leaves_old_or_new(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "tests.integration.restore_kills", str(tmp_path))
    said = subprocess.run(command, check=True, timeout=120, capture_output=True, text=True).stdout
    kills = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    old, new = ["old", "old, in the log"], ["new"]
    assert len(kills) > 10
    found = [kill["titles"] for kill in kills]
    turn = found.index(new)
    assert found == [old] * turn + [new] * (len(found) - turn)
    assert [kill["hidden"] for kill in kills] == [[]] * len(kills)
    # A second restore sets the current state aside, and leaves the state that the first one set aside untouched.
    assert [kill["kept"] for kill in kills] == [[old]] * turn + [[new, old]] * (len(kills) - turn)


def test_copies_of_killed_backups_are_removed_and_live_ones_stay(tmp_path: Path) -> None:
    state, file = tmp_path / "state", tmp_path / "chats.db"
    made(state, "one")
    dead, live = tmp_path / ".chats.db.draft-dead", tmp_path / ".chats.db.draft-live"
    for draft in (dead, dead.with_name(f"{dead.name}-journal"), live):
        draft.write_bytes(b"half")
    (tmp_path / ".chats.db.swp").write_text("an editor's")
    with live.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert run("backup", file, state) == 0
    hidden = sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("."))
    assert hidden == [".chats.db.draft-live", ".chats.db.swp"]


def test_backup_in_use_is_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state, file = tmp_path / "state", tmp_path / "chats.db"
    made(state, "one")
    assert run("backup", file, state) == 0
    (tmp_path / "chats.db-wal").write_bytes(b"a log")
    assert run("backup", file, state) == 1
    assert "choose another name" in capsys.readouterr().err


def test_set_aside_state_is_not_a_link_to_the_new_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state, file = tmp_path / "state", tmp_path / "chats.db"
    made(state, "one")
    assert run("backup", file, state) == 0
    assert run("restore", file, state) == 0
    kept = Path(capsys.readouterr().err.strip().rpartition(" ")[2])
    assert kept.stat().st_nlink == 1
    assert (state / "conversations.db").stat().st_nlink == 1
