"""The scripts behind `make`, on machines that lack a tool, root or a suitable Python."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[3] / "scripts"


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Folder that is the whole PATH. Only `sh` and `ls` are in the folder; tests add programs."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "ls"):
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    return folder


def add(folder: Path, name: str, script: str = "exit 0") -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def run(programs: Path, script: str, *arguments: str, cwd: Path | None = None, ci: bool = False) -> tuple[int, str]:
    environ = {"PATH": str(programs)} | ({"CI": "true"} if ci else {})
    command = [shutil.which("sh") or "sh", str(SCRIPTS / script), *arguments]
    result = subprocess.run(command, env=environ, cwd=cwd, capture_output=True, text=True, check=False, timeout=60)
    return result.returncode, result.stdout + result.stderr


def test_installed_test_tools_are_left_alone(programs: Path) -> None:
    add(programs, "chromium")
    add(programs, "valkey-server")
    assert run(programs, "get-test-tools", ci=True) == (0, "")


def test_missing_tools_without_apt_stop_only_ci(programs: Path) -> None:
    add(programs, "chromium")
    status, output = run(programs, "get-test-tools")
    assert status == 0
    assert "The tests use redis-server, and apt-get is not available" in output
    assert "will be skipped" in output
    status, output = run(programs, "get-test-tools", ci=True)
    assert status == 1
    assert "Install them by hand" in output


def test_nothing_is_installed_without_root(programs: Path) -> None:
    add(programs, "apt-get", "echo apt-get was called; exit 1")
    add(programs, "id", "echo 1000")
    add(programs, "sudo", "exit 1")
    status, output = run(programs, "get-test-tools")
    assert status == 0
    assert "The tests use chromium redis-server, and installing them needs root" in output
    assert "sudo apt-get install chromium redis-server" in output
    assert "was called" not in output


def test_root_installs_missing_tools_without_starting_services(programs: Path, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    add(programs, "apt-get", f'echo "$RUNLEVEL $@" >> {calls}')
    add(programs, "id", "echo 0")
    env = shutil.which("env")
    assert env is not None
    (programs / "env").symlink_to(env)
    assert run(programs, "get-test-tools", ci=True)[0] == 0
    update, install = calls.read_text().splitlines()
    assert update.split() == ["-q", "update"]
    assert install == "1 -q install -y --no-install-recommends chromium redis-server"


@pytest.mark.parametrize("in_apt", [True, False])
def test_headless_shell_is_installed_where_apt_has_it(programs: Path, tmp_path: Path, in_apt: bool) -> None:
    calls = tmp_path / "calls"
    calls.touch()
    for name in ("chromium", "redis-server"):
        add(programs, name)
    add(programs, "apt-cache", f"exit {0 if in_apt else 100}")
    add(programs, "apt-get", f'echo "$@" >> {calls}')
    add(programs, "id", "echo 0")
    env = shutil.which("env")
    assert env is not None
    (programs / "env").symlink_to(env)
    assert run(programs, "get-test-tools", ci=True)[0] == 0
    expected = "-q install -y --no-install-recommends chromium-headless-shell\n" if in_apt else ""
    assert calls.read_text() == expected


def test_tools_for_tests_of_logins_are_asked_for_by_name(programs: Path) -> None:
    add(programs, "apt-get", "exit 1")
    add(programs, "id", "echo 1000")
    _, output = run(programs, "get-test-tools", "logins")
    assert "chromium" not in output
    add(programs, "slapd")
    _, output = run(programs, "get-test-tools", "logins")
    assert "slapd" not in output


def test_failing_apt_stops_only_ci(programs: Path) -> None:
    add(programs, "apt-get", "echo no network >&2; exit 100")
    add(programs, "id", "echo 0")
    assert run(programs, "get-test-tools")[0] == 0
    status, output = run(programs, "get-test-tools", ci=True)
    assert status == 1
    assert "no network" in output


@pytest.mark.parametrize(
    ("tools", "device"),
    [
        ({}, "cpu"),
        ({"nvidia-smi": "exit 0"}, "cuda"),
        ({"nvidia-smi": "exit 9"}, "cpu"),
        ({"npu-smi": "exit 0"}, "npu"),
        ({"npu-smi": "exit 0", "nvidia-smi": "exit 0"}, "npu"),
    ],
)
@pytest.mark.skipif(any(Path("/dev").glob("davinci[0-9]*")), reason="this machine has an NPU")
def test_device_is_the_one_whose_tool_succeeds(programs: Path, tools: dict[str, str], device: str) -> None:
    for name, script in tools.items():
        add(programs, name, script)
    assert run(programs, "find-device") == (0, f"{device}\n")


def test_first_supported_python_creates_the_environment(programs: Path, tmp_path: Path) -> None:
    add(programs, "python3", "exit 1")  # another version
    add(programs, "python3.11", f'[ "$1" = --version ] && echo Python 3.11.9; echo "$@" >> {tmp_path}/calls')
    status, output = run(programs, "make-venv", cwd=tmp_path)
    assert (status, output) == (0, "==> Making .venv with Python 3.11.9\n")
    assert (tmp_path / "calls").read_text().splitlines()[-1] == "-m venv .venv"


def test_missing_python_is_reported_with_advice(programs: Path) -> None:
    add(programs, "python3", "exit 1")
    status, output = run(programs, "make-venv")
    assert status == 1
    assert "Ebb needs a Python from 3.11 to 3.14; none is on PATH." in output
    assert "make serve PYTHON=/path/to/python3.12" in output


def test_python_without_venv_names_the_package_to_install(programs: Path) -> None:
    add(programs, "python3", '[ "$1" = -m ] && exit 1; exit 0')
    status, output = run(programs, "make-venv")
    assert status == 1
    assert "python3-venv" in output


def test_scripts_are_executable(tmp_path: Path) -> None:
    for script in ("npm", "find-device", "get-test-tools", "make-venv"):
        assert os.access(SCRIPTS / script, os.X_OK)
