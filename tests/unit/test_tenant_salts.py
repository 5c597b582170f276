"""Salts of tenants: which lasts, which changes, and what happens to the file between."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.errors import EngineError
from engine.tenants import TenantSalts

SECRET = b"a secret of the tests"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tenants.json"


def test_a_tenant_keeps_its_salt_over_a_restart_until_it_is_deleted(path: Path) -> None:
    salts = TenantSalts(SECRET, path)
    before = salts.salt("a")
    assert TenantSalts(SECRET, path).salt("a") == before
    salts.rotate("a")
    after = salts.salt("a")
    assert after != before
    assert TenantSalts(SECRET, path).salt("a") == after
    salts.rotate("a")
    assert len({before, after, salts.salt("a")}) == 3


def test_others_keep_theirs(path: Path) -> None:
    salts = TenantSalts(SECRET, path)
    other = salts.salt("b")
    salts.rotate("a")
    assert salts.salt("b") == other


def test_no_name_of_a_tenant_makes_the_salt_of_another(path: Path) -> None:
    salts = TenantSalts(SECRET, path)
    of_names = {salts.salt(name) for name in ("a", "0:a", "1:a", "", ":")}
    salts.rotate("a")
    assert len({*of_names, salts.salt("a")}) == 6


def test_another_secret_gives_other_salts() -> None:
    assert TenantSalts(SECRET).salt("a") != TenantSalts(b"another").salt("a")


def test_the_name_of_a_deleted_tenant_is_not_kept(path: Path) -> None:
    TenantSalts(SECRET, path).rotate("somebody")
    assert "somebody" not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600


def test_no_deletion_is_lost_among_many_at_once(path: Path) -> None:
    salts = TenantSalts(SECRET, path)
    names = [f"tenant {number}" for number in range(16)]
    before = {name: salts.salt(name) for name in names}
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(salts.rotate, names))
    restarted = TenantSalts(SECRET, path)
    assert all(salts.salt(name) == restarted.salt(name) != before[name] for name in names)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_deletion_that_cannot_last_says_so_and_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_a_damaged_file_is_refused_with_what_to_do(path: Path, content: str) -> None:
    path.write_text(content)
    with pytest.raises(EngineError, match="is damaged; restore it, or delete it together with the secret"):
        TenantSalts(SECRET, path)


def test_a_file_that_cannot_be_read_is_named(path: Path) -> None:
    path.mkdir()
    with pytest.raises(EngineError, match=r"tenants.json: Is a directory"):
        TenantSalts(SECRET, path)


def test_a_deletion_is_on_the_disk_before_it_is_said_to_be_done(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[bool, bool]] = []

    def sync(descriptor: int) -> None:
        synced.append((stat.S_ISDIR(os.fstat(descriptor).st_mode), path.exists()))

    monkeypatch.setattr(os, "fsync", sync)
    TenantSalts(SECRET, path).rotate("a")
    # The file before it has its name, the folder afterwards.
    assert synced == [(False, False), (True, True)]
