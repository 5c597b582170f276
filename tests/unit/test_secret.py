"""The secret behind tenant salts: made once, private, and the same for everyone who starts with it."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.secret import SecretError, load_secret


def test_the_first_start_makes_a_private_random_secret_and_later_starts_read_it(tmp_path: Path) -> None:
    path = tmp_path / "state/secret"
    first = load_secret(path)
    assert len(first) == 32
    assert path.stat().st_mode & 0o777 == 0o600
    assert load_secret(path) == first
    assert load_secret(tmp_path / "other") != first


def test_servers_that_start_together_agree_on_one_secret(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: load_secret(path), range(32)))
    assert found == {path.read_bytes()}
    assert [file.name for file in tmp_path.iterdir()] == ["secret"]


def test_a_secret_that_is_too_short_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"hunter2")
    with pytest.raises(SecretError, match="holds 7 bytes, needs at least 32; delete it"):
        load_secret(tmp_path / "secret")


def test_a_secret_that_cannot_be_read_or_made_names_its_file(tmp_path: Path) -> None:
    with pytest.raises(SecretError, match="Is a directory"):
        load_secret(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(SecretError, match="file/secret: File exists"):
        load_secret(tmp_path / "file/secret")
