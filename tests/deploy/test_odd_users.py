"""The server as shipped, for users without a home and on a system that cannot be written, up to an answer."""

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.redis_server import free_port

ROOT = Path(__file__).parents[2]
CACHE = Path(
    os.environ.get("EBB_CACHE_DIR") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ebb"
)

CONFINED = """
set -e
mount --bind "$1" /mnt
mount --bind "$2" /srv
mount --bind /tmp /tmp
mount -o remount,bind,noexec /mnt
mount -o remount,bind,ro /tmp
mount -o remount,bind,ro /
mount -t tmpfs -o size=64k tiny /dev/shm
mount -t tmpfs -o ro empty /sys
shift 2
exec "$@"
"""
"""Script that makes the system read-only except for the state directory, /mnt, and the cache directory, /srv.

Programs in the state directory cannot be run. There is hardly any shared memory, and nothing in /sys.
"""

SERVE = "import sys; from app.cli.main import main; sys.exit(main())"

HARDENED = """
import ctypes, os, sys
# PR_SET_MDWE, which Linux has since 6.3.
ctypes.CDLL(None).prctl(65, 1, 0, 0, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
"""Script that denies memory that is writable and executable, as MemoryDenyWriteExecute of a systemd unit does."""

READS = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
"""The right to read everything: the Python of a checkout may be in the home of another user."""

pytestmark = pytest.mark.skipif(
    subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode != 0,
    reason="another user and a read-only system take the right to unshare mounts (root)",
)


class EndedError(Exception):
    """The end of a server during its start, with its log."""


@contextmanager
def confined_server(
    folder: Path, uid: int, environment: dict[str, str], *flags: str, hardened: bool = False
) -> Iterator[str]:
    """Run `ebb serve` for user `uid` on a read-only system, and yield its URL. Raise EndedError if it ends before.

    hardened: with the limits of a hardened unit too.
    """
    state, cache = folder / "state", folder / "cache"
    state.mkdir()
    shutil.copytree(CACHE / "models", cache / "models", symlinks=True)
    shutil.copytree(CACHE / "kernels", cache / "kernels")
    subprocess.run(["chown", "-R", f"{uid}:{uid}", state, cache], check=True)
    port = free_port()
    given = {"PATH": os.environ["PATH"], "EBB_STATE_DIR": "/mnt", "EBB_CACHE_DIR": "/srv", **environment}
    command = [sys.executable, "-c", SERVE, "serve", "--port", str(port), "--redis-url", "off"]
    sizes = ["--kv-memory", "64MiB", "--cpu-kv-memory", "64MiB"]
    user = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *READS]
    if hardened:
        user += ["--no-new-privs", sys.executable, "-c", HARDENED]
    variables = ["env", "-i", *(f"{name}={value}" for name, value in given.items())]
    script = ["unshare", "-m", "sh", "-c", CONFINED, "sh", str(state), str(cache)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*script, *user, *variables, *command, *sizes, *flags], cwd=ROOT, stderr=log, stdout=log
        )
    try:
        wait_until_ready(process, f"http://127.0.0.1:{port}", folder / "log")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def wait_until_ready(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    """Wait for the server to be ready. Raise EndedError with its log if it ends before."""
    give_up = time.monotonic() + 120
    while time.monotonic() < give_up:
        if process.poll() is not None:
            raise EndedError(log.read_text())
        try:
            urllib.request.urlopen(f"{url}/ready", timeout=5).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise AssertionError(log.read_text())


def num_tokens(url: str) -> int:
    """Complete a text, and return the number of its tokens."""
    body = json.dumps({"model": "smollm2-135m-instruct", "prompt": "Hello", "max_tokens": 2}).encode()
    request = urllib.request.Request(f"{url}/v1/completions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return int(json.load(response)["usage"]["completion_tokens"])


@pytest.mark.parametrize(
    ("uid", "environment"),
    [
        pytest.param(10001, {"HOME": "/home/ebb"}, id="image"),
        pytest.param(10001, {}, id="unset-home"),
        pytest.param(54321, {"HOME": "/"}, id="random-uid"),
    ],
)
def test_user_without_home_on_read_only_system_gets_answers(
    tmp_path: Path, uid: int, environment: dict[str, str]
) -> None:
    with confined_server(tmp_path, uid, environment) as url:
        assert num_tokens(url) > 0


def test_hardened_unit_gets_answers(tmp_path: Path) -> None:
    """Serve as a unit with DynamicUser, ProtectSystem=strict, NoNewPrivileges and MemoryDenyWriteExecute does."""
    with confined_server(tmp_path, 61234, {}, hardened=True) as url:
        assert num_tokens(url) > 0


def test_replicas_without_shared_memory_get_answers(tmp_path: Path) -> None:
    with confined_server(tmp_path, 61234, {}, "--replicas", "2") as url:
        assert num_tokens(url) > 0


@pytest.mark.parametrize(
    ("environment", "advice"),
    [
        pytest.param({}, "set TMPDIR to a folder that can be written", id="no-temporary-folder"),
        pytest.param({"TMPDIR": "/mnt"}, "give the container more shared memory", id="no-shared-memory"),
    ],
)
def test_ranks_say_what_they_lack(tmp_path: Path, environment: dict[str, str], advice: str) -> None:
    with (
        pytest.raises(EndedError, match=advice) as ended,
        confined_server(tmp_path, 61234, environment, "--tensor-parallel-size", "3"),
    ):
        pass
    assert "Traceback" not in str(ended.value)
