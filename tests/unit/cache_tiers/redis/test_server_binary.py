import importlib.util
import platform
from pathlib import Path
from types import SimpleNamespace

import pytest

from cache_tiers.redis.server_binary import PACKAGED_SHA256, find_packaged_server, find_redis_server, server_command


def executable(path: Path) -> Path:
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_a_server_on_the_path_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    valkey = executable(tmp_path / "valkey-server")
    assert find_redis_server() == valkey
    redis = executable(tmp_path / "redis-server")
    assert find_redis_server() == redis


def test_without_one_the_packaged_server_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "redis-server").write_text("not executable")
    found = find_redis_server()
    assert found == find_packaged_server()
    assert (found is not None) == (platform.machine() in PACKAGED_SHA256)


def test_changed_packaged_server_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "_binaries" / f"linux-{platform.machine()}"
    folder.mkdir(parents=True)
    executable(folder / "valkey-server")
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda _name: SimpleNamespace(submodule_search_locations=[tmp_path])
    )
    assert find_packaged_server() is None


def test_with_neither_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert find_redis_server() is None


def test_server_never_saves_and_is_bounded() -> None:
    command = server_command(Path("/bin/redis"), Path("/state"), Path("/state/s"), 1 << 30)
    assert command[command.index("--save") + 1] == ""
    assert command[command.index("--appendonly") + 1] == "no"
    assert command[command.index("--maxmemory") + 1] == str(1 << 30)
