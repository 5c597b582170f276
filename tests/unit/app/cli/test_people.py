"""`ebb people`: people with passwords, created and changed without a server."""

import asyncio
import io
from pathlib import Path

import pytest

from app.accounts.login_turns import LoginLine
from app.accounts.passwords import Passwords
from app.cli.main import main
from app.storage.passwords import StoredPassword
from app.storage.store import Store


def ebb(capsys: pytest.CaptureFixture[str], state: Path, *arguments: str) -> tuple[int, str, str]:
    """Run `ebb people` with `arguments`. Return exit status, standard output and standard error."""
    status = main(["people", *arguments, "--state-dir", str(state)])
    said = capsys.readouterr()
    return status, said.out, said.err


def stored(state: Path, name: str) -> StoredPassword:
    async def find() -> StoredPassword | None:
        store = await Store.open(state / "conversations.db")
        try:
            return await store.passwords.find(name)
        finally:
            await store.close()

    found = asyncio.run(find())
    assert found is not None
    return found


def matches(password: str, digest: str) -> bool:
    return asyncio.run(Passwords().matches(password, digest, LoginLine("a")))


def test_person_is_added_and_listed_with_role(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "ebb people add" in ebb(capsys, tmp_path, "list")[2]
    status, password, said = ebb(capsys, tmp_path, "add", "Ada", "--admin")
    assert status == 0
    assert "administrator" in said
    assert matches(password.strip(), stored(tmp_path, "ada").digest)
    ebb(capsys, tmp_path, "add", "bob")
    listed = [line.split()[:3] for line in ebb(capsys, tmp_path, "list")[1].splitlines()]
    assert listed == [["Ada", "admin", "password"], ["bob", "user", "password"]]
    status, _, said = ebb(capsys, tmp_path, "add", "ADA")
    assert status == 1
    assert "already" in said


def test_password_is_read_from_standard_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ebb(capsys, tmp_path, "add", "ada")
    monkeypatch.setattr("sys.stdin", io.StringIO("twelve grey gulls\n"))
    assert ebb(capsys, tmp_path, "set-password", "Ada")[0] == 0
    assert matches("twelve grey gulls", stored(tmp_path, "ada").digest)
    monkeypatch.setattr("sys.stdin", io.StringIO("short\n"))
    status, _, said = ebb(capsys, tmp_path, "set-password", "ada")
    assert status == 1
    assert "10 to 256 characters" in said
    status, _, said = ebb(capsys, tmp_path, "set-password", "eve")
    assert status == 1
    assert "ebb people add eve" in said


def test_person_is_removed_with_keys_and_chats_once_confirmed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ebb(capsys, tmp_path, "add", "ada")
    ebb(capsys, tmp_path, "add", "bob")

    async def fill() -> str:
        store = await Store.open(tmp_path / "conversations.db")
        try:
            ada, _ = await store.people.all()
            await store.of(ada.tenant).conversations.create({"title": "Tides"})
            await store.keys.create("script", ada.tenant, "user", person_id=ada.id)
            return ada.tenant
        finally:
            await store.close()

    tenant = asyncio.run(fill())
    monkeypatch.setattr("sys.stdin", io.StringIO("no\n"))
    status, _, said = ebb(capsys, tmp_path, "remove", "Ada")
    assert status == 1
    assert f"ada (tenant {tenant}) with 1 chats, all files, 1 keys and all logins" in said
    assert len(ebb(capsys, tmp_path, "list")[1].splitlines()) == 2

    assert ebb(capsys, tmp_path, "remove", tenant, "--yes")[0] == 0
    assert [line.split()[0] for line in ebb(capsys, tmp_path, "list")[1].splitlines()] == ["bob"]
    status, _, said = ebb(capsys, tmp_path, "remove", "ada", "--yes")
    assert status == 1
    assert "ebb people list" in said

    async def left() -> list[int]:
        store = await Store.open(tmp_path / "conversations.db")
        try:
            has = await store.tenants.one(tenant)
            return [has.keys, has.conversations, has.nbytes]
        finally:
            await store.close()

    assert asyncio.run(left()) == [0, 0, 0]
