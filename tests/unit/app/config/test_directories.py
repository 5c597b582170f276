"""Folders of the state and the cache: their creation, their modes, and the message where that is impossible."""

import errno
import os
from pathlib import Path

import pytest

from app.config.options import SettingsError
from app.config.settings import load_settings, lock_state_dir

HOME = {"HOME": "/home/ann"}


def test_new_directories_are_private(tmp_path: Path) -> None:
    settings = load_settings({"state-dir": str(tmp_path / "a/s"), "cache-dir": str(tmp_path / "c")}, environ=HOME)
    settings.make_directories()
    settings.make_directories()
    assert settings.state_dir.stat().st_mode & 0o777 == 0o700
    assert settings.cache_dir.stat().st_mode & 0o777 == 0o700


def test_mode_of_existing_state_directory_is_corrected(tmp_path: Path) -> None:
    settings = load_settings({"state-dir": str(tmp_path / "s"), "cache-dir": str(tmp_path / "c")}, environ=HOME)
    settings.state_dir.mkdir()
    settings.state_dir.chmod(0o755)
    settings.make_directories()
    assert settings.state_dir.stat().st_mode & 0o777 == 0o700


def test_failure_to_create_directory_names_its_setting(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    settings = load_settings({"state-dir": str(tmp_path / "file/state"), "cache-dir": str(tmp_path)}, environ=HOME)
    with pytest.raises(SettingsError, match=r"--state-dir .*file/state: Not a directory"):
        settings.make_directories()


def test_state_directory_that_is_no_folder_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    for name, reason in (("file", "is not a folder"), ("link", "is a link to a folder that does not exist")):
        settings = load_settings({"state-dir": str(tmp_path / name), "cache-dir": str(tmp_path)}, environ=HOME)
        with pytest.raises(SettingsError, match=f"--state-dir .*/{name} {reason}"):
            settings.make_directories()


def test_read_only_state_directory_keeps_its_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    settings = load_settings({"state-dir": str(tmp_path / "s"), "cache-dir": str(tmp_path / "c")}, environ=HOME)
    settings.state_dir.mkdir(mode=0o755)
    monkeypatch.setattr(Path, "chmod", refuse)
    settings.make_directories()
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(SettingsError, match=r"--state-dir .*/s cannot be used: Read-only file system"):
        lock_state_dir(settings.state_dir)
