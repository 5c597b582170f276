"""`ebb keys`, and the effect of its keys on the start of a server."""

import asyncio
import logging
import os
import socket
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app.access.auth_policy import auth_policy_of, keys_required, why_not_to_serve
from app.cli.main import main
from app.config.settings import Settings, lock_state_dir
from app.host.listeners import Listeners
from app.server import run_server
from app.storage.sqlite.key_counts import count_keys
from app.storage.sqlite.migrating import migrations, schema_of
from app.storage.store import Store


def settings(state: Path, host: str = "127.0.0.1", *, without_keys: bool = False) -> Settings:
    return Settings(
        state_dir=state, cache_dir=state, secret_file=state / "secret", host=host, without_keys=without_keys
    )


def ebb(capsys: pytest.CaptureFixture[str], state: Path, *arguments: str) -> tuple[int, str, str]:
    """Run `ebb keys` with `arguments`. Return exit status, standard output and standard error."""
    try:
        status = main(["keys", *arguments, "--state-dir", str(state)])
    except SystemExit as left:
        status = int(str(left.code))
    said = capsys.readouterr()
    return status, said.out, said.err


@pytest.mark.parametrize(("options", "login"), [((), "a key made with --admin"), (("--admin",), "this key")])
def test_first_key_says_where_earlier_chats_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], login: str
) -> None:
    async def chat_without_key() -> None:
        store = await Store.open(settings(tmp_path).database)
        for _ in range(2):
            await store.conversations.create({})
        await store.close()

    asyncio.run(chat_without_key())
    said = ebb(capsys, tmp_path, "create", "alice", *options)[2]
    assert "Chats from before this first key (2) belong to the tenant local" in said
    assert "ebb keys create NAME --tenant local" in said
    assert f"log in to the page with {login}" in said
    assert "before this first key" not in ebb(capsys, tmp_path, "create", "bob")[2]


def test_first_key_to_earlier_chats_says_no_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "before this first key" not in ebb(capsys, tmp_path, "create", "me", "--tenant", "local")[2]


def test_key_is_created_listed_limited_and_revoked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, key, said = ebb(capsys, tmp_path, "create", "alice")
    assert status == 0
    assert key.startswith("sk-ebb-")
    assert len(key.splitlines()) == 1
    assert "tenant alice" in said
    assert ebb(capsys, tmp_path, "create", "phone", "--tenant", "alice", "--admin")[0] == 0
    assert "no limits" in ebb(capsys, tmp_path, "limits", "alice")[1]
    assert "60 requests per minute" in ebb(capsys, tmp_path, "limits", "alice", "--requests-per-minute", "60")[1]
    both = ebb(capsys, tmp_path, "limits", "alice", "--conversations", "5")[1]
    assert "60 requests per minute, 5 conversations" in both
    assert "60" not in ebb(capsys, tmp_path, "limits", "alice", "--requests-per-minute", "none")[1]

    status, listed, _ = ebb(capsys, tmp_path, "list")
    first, second, limits = listed.splitlines()
    assert "user" in first
    assert "alice" in first
    assert "admin" in second
    assert "tenant alice" in second
    assert limits == "tenant alice: 5 conversations"
    assert key.strip() not in listed
    assert ebb(capsys, tmp_path, "revoke", first.split()[0])[0] == 0
    assert "revoked" in ebb(capsys, tmp_path, "list")[1].splitlines()[0]
    assert (count_keys(tmp_path / "conversations.db").made, count_keys(tmp_path / "conversations.db").valid) == (2, 1)


def test_reservations_fit_into_the_disk_tier_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Disks of a machine with tests may be in memory, where the tier is on only with a size.
    monkeypatch.setenv("EBB_DISK_KV_SIZE", "10GiB")
    assert "6 GiB reserved for promises" in ebb(capsys, tmp_path, "limits", "alice", "--kv-reserved", "6GiB")[1]
    status, _, said = ebb(capsys, tmp_path, "limits", "bob", "--kv-reserved", "5GiB")
    assert status == 1
    assert "at most 10 GiB, of which 6 GiB are reserved for other tenants" in said
    assert ebb(capsys, tmp_path, "limits", "bob", "--kv-reserved", "4GiB")[0] == 0
    monkeypatch.setenv("EBB_DISK_KV_SIZE", "0")
    assert "disk tier is off" in ebb(capsys, tmp_path, "limits", "alice", "--kv-reserved", "7GiB")[2]
    assert "5 GiB reserved" in ebb(capsys, tmp_path, "limits", "alice", "--kv-reserved", "5GiB")[1]
    assert "no limits" in ebb(capsys, tmp_path, "limits", "alice", "--kv-reserved", "none")[1]


@pytest.mark.parametrize(
    ("arguments", "words", "status"),
    [
        (("create",), "required: NAME", 2),
        (("create", "a b"), "NAME: 'a b' is not a valid name", 2),
        (("create", "alice", "--tenant", "../x"), "--tenant: '../x' is not a valid name", 2),
        (("create", "alice", "--requests-per-minute", "1"), "unknown argument --requests-per-minute", 2),
        (("limits", "alice", "--conversations", "many"), "--conversations: 'many' is not a whole number", 2),
        (("revoke", "0123456789ab"), "There is no key 0123456789ab", 1),
        (("make",), "invalid choice: 'make'", 2),
    ],
)
def test_invalid_arguments_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str, status: int
) -> None:
    got, _, said = ebb(capsys, tmp_path, *arguments)
    assert (got, words in said) == (status, True), said


def test_key_requirement_depends_on_host_and_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here, world = settings(tmp_path), settings(tmp_path, "0.0.0.0")
    open_world = settings(tmp_path, "0.0.0.0", without_keys=True)
    assert [auth_policy_of(each) for each in (here, world, open_world)] == ["once made", "always", "never"]
    assert [keys_required(each) for each in (here, world, open_world)] == [False, True, False]
    assert why_not_to_serve(here) is why_not_to_serve(open_world) is None
    assert "ebb keys create" in (why_not_to_serve(world) or "")
    _, key, _ = ebb(capsys, tmp_path, "create", "alice")
    assert keys_required(here)
    assert why_not_to_serve(world) is None
    ebb(capsys, tmp_path, "revoke", key.split("-")[2])
    assert keys_required(here), "revoking the last key must not open the server"
    assert why_not_to_serve(world) is not None


def test_public_server_without_keys_refuses_to_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    with socket.socket() as listener:
        assert run_server(settings(tmp_path, "0.0.0.0"), Listeners(listener)) == 1
    assert "ebb keys create" in caplog.text
    assert "--without-keys" in caplog.text


def test_keys_refuse_to_migrate_under_running_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ebb(capsys, tmp_path, "create", "alice")[0] == 0
    with closing(sqlite3.connect(tmp_path / "conversations.db")) as connection:
        connection.execute(f"PRAGMA user_version = {len(migrations()) - 1}")
    lock = lock_state_dir(tmp_path)
    assert lock is not None
    status, _, said = ebb(capsys, tmp_path, "list")
    assert status == 1
    assert "A server of another version" in said
    assert schema_of(tmp_path / "conversations.db") == len(migrations()) - 1
    os.close(lock)


def test_keys_work_alongside_server_of_same_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ebb(capsys, tmp_path, "create", "alice")[0] == 0
    lock = lock_state_dir(tmp_path)
    assert lock is not None
    assert ebb(capsys, tmp_path, "create", "bob")[0] == 0
    os.close(lock)


def test_keys_first_complete_interrupted_restore(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ebb(capsys, tmp_path, "create", "alice")[0] == 0
    database = tmp_path / "conversations.db"
    database.rename(tmp_path / ".conversations.db.restored")
    (tmp_path / ".conversations.db.restoring").write_text('{"aside": "conversations.db.before-x"}')
    assert "alice" in ebb(capsys, tmp_path, "list")[1]
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []
