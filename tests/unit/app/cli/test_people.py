"""`ebb people`: people with passwords, created and changed without a server."""

import asyncio
import io
from pathlib import Path

import pytest

from app.accounts.login_turns import Place
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
    return asyncio.run(Passwords().matches(password, digest, Place("a")))


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
