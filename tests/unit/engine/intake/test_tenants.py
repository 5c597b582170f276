"""Salts of tenants, their rotation, and the file of deleted tenants."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.api.errors import EngineError
from engine.intake.prefix_keys import TenantSalts

SECRET = b"a secret of the tests"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tenants.json"


def test_salt_survives_restart_until_tenant_is_deleted(path: Path) -> None:
    salts = TenantSalts(SECRET, path)
    before = salts.salt("a")
    assert TenantSalts(SECRET, path).salt("a") == before
    salts.rotate("a")
    after = salts.salt("a")
    assert after != before
    assert TenantSalts(SECRET, path).salt("a") == after
    salts.rotate("a")
    assert len({before, after, salts.salt("a")}) == 3


def test_rotation_keeps_salts_of_other_tenants(path: Path) -> None:
    salts = TenantSalts(SECRET, path)
    other = salts.salt("b")
    salts.rotate("a")
    assert salts.salt("b") == other


def test_no_tenant_name_collides_with_a_rotated_salt(path: Path) -> None:
    salts = TenantSalts(SECRET, path)
    of_names = {salts.salt(name) for name in ("a", "0:a", "1:a", "", ":")}
    salts.rotate("a")
    assert len({*of_names, salts.salt("a")}) == 6


def test_different_secret_gives_different_salts() -> None:
    assert TenantSalts(SECRET).salt("a") != TenantSalts(b"another").salt("a")


def test_name_of_deleted_tenant_is_not_stored(path: Path) -> None:
    TenantSalts(SECRET, path).rotate("somebody")
    assert "somebody" not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600


def test_concurrent_deletions_are_all_kept(path: Path) -> None:
    salts = TenantSalts(SECRET, path)
    names = [f"tenant {number}" for number in range(16)]
    before = {name: salts.salt(name) for name in names}
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(salts.rotate, names))
    restarted = TenantSalts(SECRET, path)
    assert all(salts.salt(name) == restarted.salt(name) != before[name] for name in names)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_failed_write_of_deletion_is_reported_and_keeps_salt(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    salts = TenantSalts(SECRET, path)
    before = salts.salt("a")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(EngineError, match=r"not deleted: .*tenants.json cannot be written: No space left on device"):
        salts.rotate("a")
    assert salts.salt("a") == before
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize("content", ["{", "[]", '{"a": "b"}', "\x00"])
def test_damaged_file_is_rejected_with_advice(path: Path, content: str) -> None:
    path.write_text(content)
    with pytest.raises(EngineError, match=r"is damaged\. Restore it, or delete it together with the secret"):
        TenantSalts(SECRET, path)


def test_unreadable_file_is_named(path: Path) -> None:
    path.mkdir()
    with pytest.raises(EngineError, match=r"tenants.json cannot be read: Is a directory"):
        TenantSalts(SECRET, path)


def test_deletion_is_synced_before_it_returns(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[bool, bool]] = []

    def sync(descriptor: int) -> None:
        synced.append((stat.S_ISDIR(os.fstat(descriptor).st_mode), path.exists()))

    monkeypatch.setattr(os, "fsync", sync)
    TenantSalts(SECRET, path).rotate("a")
    # The file is synced before the rename, the folder after it.
    assert synced == [(False, False), (True, True)]


def test_older_number_of_deletions_is_not_adopted() -> None:
    first, second = TenantSalts(SECRET), TenantSalts(SECRET)
    for _ in range(2):
        first.rotate("a")
    second.rotate("b")
    deletions, salt = first.generations, first.salt("a")
    second.adopt_all(deletions)
    second.adopt("a", 1)
    assert (second.salt("a"), second.generation("b")) == (salt, 1)
