"""The secret behind tenant salts: created once, private, and the same for every server that shares the file."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.config.secret import SecretError, load_secret


def test_first_start_creates_private_secret_for_later_ones(tmp_path: Path) -> None:
    path = tmp_path / "state/secret"
    first = load_secret(path)
    assert len(first) == 32
    assert path.stat().st_mode & 0o777 == 0o600
    assert load_secret(path) == first
    assert load_secret(tmp_path / "other") != first


def test_servers_starting_together_agree_on_one_secret(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: load_secret(path), range(32)))
    assert found == {path.read_bytes()}
    assert [file.name for file in tmp_path.iterdir()] == ["secret"]


def test_too_short_secret_is_rejected_with_advice(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"hunter2")
    with pytest.raises(SecretError, match="holds 7 bytes and needs at least 32; delete the file"):
        load_secret(tmp_path / "secret")


def test_unreadable_secret_is_rejected_with_its_file(tmp_path: Path) -> None:
    with pytest.raises(SecretError, match="Is a directory"):
        load_secret(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(SecretError, match="file/secret: File exists"):
        load_secret(tmp_path / "file/secret")
