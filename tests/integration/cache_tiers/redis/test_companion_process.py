"""The companion Redis process: started, stopped, killed and orphaned."""

import os
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from cache_tiers.lower.block import Block
from cache_tiers.lower.block_values import BlockValues
from cache_tiers.lower.link_speed import LinkMeter
from cache_tiers.lower.sealed_value import FINGERPRINT_BYTES, BlockSeal
from cache_tiers.redis import companion as companion_process
from cache_tiers.redis import companion_folder
from cache_tiers.redis.address import RedisAddress
from cache_tiers.redis.backend import RedisBackend
from cache_tiers.redis.companion import RedisCompanion
from cache_tiers.redis.companion_folder import CompanionFolder
from cache_tiers.redis.errors import CompanionError, RedisError, StateDirInUseError
from cache_tiers.redis.resp import RespConnection, Timeouts
from cache_tiers.redis.server_binary import find_packaged_server, find_redis_server
from tests.sizes import MANY_PROCESSES
from tests.store_rig import CLIENT
from tests.waiting import until

BINARIES = sorted({binary for binary in (find_redis_server(), find_packaged_server()) if binary is not None})
MEGABYTES = 64 << 20
ROOT = Path(__file__).parents[4]


@pytest.fixture
def binary() -> Path:
    assert BINARIES, "the tests need a Redis server: apt-get install redis-server"
    return BINARIES[0]


def companion(state_dir: Path, binary: Path) -> RedisCompanion:
    return RedisCompanion(state_dir, binary=binary, max_memory=MEGABYTES)


@pytest.fixture
def running(tmp_path: Path, binary: Path) -> Iterator[RedisCompanion]:
    running = companion(tmp_path, binary)
    running.start()
    yield running
    running.stop()


def put(address: RedisAddress, number: int) -> None:
    block = Block(bytes([number]) * 32, memoryview(os.urandom(1000)))
    with closing(RedisBackend(address).connect(LinkMeter(), CLIENT)) as session:
        values = BlockValues(BlockSeal(b"secret", bytes(FINGERPRINT_BYTES)), block.payload.nbytes)
        assert session.write(values.sealed(block)) is None


def has(address: RedisAddress, number: int) -> bool:
    with closing(RedisBackend(address).connect(LinkMeter(), CLIENT)) as session:
        return session.find([bytes([number]) * 32]) == [True]


def answers(address: RedisAddress) -> bool:
    try:
        has(address, 0)
    except (OSError, RedisError):
        return False
    return True


def gone(pid: int) -> bool:
    """Return whether the process has ended. An orphan may remain a zombie for a while, which counts as ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def setting(address: RedisAddress, name: str) -> str:
    connection = RespConnection(address, Timeouts())
    info = connection.call(b"INFO", b"memory")
    connection.close()
    assert isinstance(info, bytes)
    return dict(line.split(":", 1) for line in info.decode().splitlines() if ":" in line)[name]


@pytest.mark.parametrize("binary", BINARIES, ids=str)
def test_stop_ends_the_process_and_no_data_reaches_the_disk(tmp_path: Path, binary: Path) -> None:
    (tmp_path / "redis").mkdir()
    (tmp_path / "redis" / "dump.rdb").write_bytes(b"the blocks of an earlier version")
    first = companion(tmp_path, binary)
    first.start()
    put(first.address, 1)
    pid = first.pid
    first.stop()
    assert pid is not None
    assert gone(pid)
    assert not answers(first.address)
    assert [path.name for path in (tmp_path / "redis").iterdir()] == ["lock"]
    second = companion(tmp_path, binary)
    second.start()
    assert not has(second.address, 1)
    second.stop()


def test_companion_is_private_and_bounded_in_memory(tmp_path: Path, running: RedisCompanion) -> None:
    folder, socket = tmp_path / "redis", tmp_path / "redis" / "redis.sock"
    assert running.address == RedisAddress(unix_path=socket)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(socket.stat().st_mode) == 0o700
    assert setting(running.address, "maxmemory") == str(MEGABYTES)
    assert setting(running.address, "maxmemory_policy") == "allkeys-lru"
    assert running.pid is not None
    sockets = subprocess.run(["cat", f"/proc/{running.pid}/net/tcp"], capture_output=True, text=True, check=True)
    inodes = {os.readlink(fd) for fd in Path(f"/proc/{running.pid}/fd").iterdir() if fd.is_symlink()}
    listening = {f"socket:[{line.split()[9]}]" for line in sockets.stdout.splitlines()[1:] if line.split()[3] == "0A"}
    assert not inodes & listening, "the companion listens on TCP"


def test_companion_does_not_receive_terminal_interrupts(running: RedisCompanion) -> None:
    assert running.pid is not None
    assert os.getsid(running.pid) != os.getsid(0)


def test_companions_allocator_keeps_its_pages(tmp_path: Path, binary: Path) -> None:
    """Record the environment with a wrapper script, since Redis overwrites its environment with its process title."""
    script = tmp_path / "server"
    script.write_text(f'#!/bin/sh\nenv > {tmp_path}/environment\nexec {binary} "$@"\n')
    script.chmod(0o755)
    running = companion(tmp_path, script)
    running.start()
    running.stop()
    environment = (tmp_path / "environment").read_text().splitlines()
    assert "MALLOC_CONF=dirty_decay_ms:-1,muzzy_decay_ms:-1" in environment
    assert "MALLOC_MMAP_THRESHOLD_=1073741824" in environment


def test_state_directory_has_at_most_one_companion(tmp_path: Path, binary: Path, running: RedisCompanion) -> None:
    with pytest.raises(StateDirInUseError, match=f"another Ebb process is using the state directory {tmp_path}"):
        companion(tmp_path, binary)
    put(running.address, 1)
    assert has(running.address, 1), "the first companion was disturbed"


def test_dead_companion_is_relaunched_at_the_same_address(running: RedisCompanion) -> None:
    for relaunches in (1, 2):
        dead = running.pid
        assert dead is not None
        os.kill(dead, signal.SIGKILL)
        until(lambda: running.pid not in (None, dead) and answers(running.address))  # noqa: B023
        assert running.relaunches == relaunches


def test_stop_is_final(tmp_path: Path, binary: Path) -> None:
    stopped = companion(tmp_path, binary)
    stopped.start()
    stopped.stop()
    stopped.stop()
    assert stopped.pid is None
    assert [path.name for path in (tmp_path / "redis").iterdir()] == ["lock"]
    again = companion(tmp_path, binary)
    again.stop()


PARENT = """
import sys, threading
from pathlib import Path
from cache_tiers.redis.companion import RedisCompanion
from tests.integration.cache_tiers.redis.test_companion_process import put
companion = RedisCompanion(Path(sys.argv[1]), binary=Path(sys.argv[2]), max_memory=64 << 20)
if sys.argv[3] == "main":
    companion.start()
else:
    starting = threading.Thread(target=companion.start)
    starting.start()
    starting.join()
put(companion.address, 1)
print(companion.pid, flush=True)
threading.Event().wait()
"""


class Parent:
    """Another Ebb process, with a companion that holds block 1.

    thread: the thread that starts the companion, "main" or another one.
    """

    def __init__(self, state_dir: Path, binary: Path, thread: str = "main") -> None:
        arguments = [sys.executable, "-c", PARENT, str(state_dir), str(binary), thread]
        self.process = subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.companion_pid = int(self.process.stdout.readline())

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.mark.parametrize(
    "binary", [BINARIES[0], *(pytest.param(each, marks=MANY_PROCESSES) for each in BINARIES[1:])], ids=str
)
@pytest.mark.parametrize("thread", [pytest.param("main", marks=MANY_PROCESSES), "another"])
def test_no_process_stays_after_kill_9_of_the_parent(tmp_path: Path, binary: Path, thread: str) -> None:
    parent = Parent(tmp_path, binary, thread)
    assert not gone(parent.companion_pid), "the companion ended with the thread that called start"
    parent.kill()
    until(lambda: gone(parent.companion_pid))
    after = companion(tmp_path, binary)
    after.start()
    after.stop()


def test_former_companion_that_never_ends_is_killed(
    tmp_path: Path, binary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(companion_folder, "_END_SECONDS", 0.1)
    parent = Parent(tmp_path, binary)
    os.kill(parent.companion_pid, signal.SIGSTOP)
    parent.kill()
    folder = CompanionFolder(tmp_path)
    folder.wait_for_former()
    assert gone(parent.companion_pid)
    folder.close()


def test_foreign_process_with_the_recorded_pid_is_left_alone(tmp_path: Path) -> None:
    foreign = subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait()"], cwd=tmp_path)
    folder = CompanionFolder(tmp_path)
    folder.pid_file.write_text(str(foreign.pid))
    folder.wait_for_former()
    assert foreign.poll() is None
    folder.close()
    foreign.kill()
    foreign.wait()


@pytest.mark.parametrize("content", ["", "nonsense", "-1", "999999999"])
def test_invalid_pid_file_is_ignored(tmp_path: Path, content: str) -> None:
    folder = CompanionFolder(tmp_path)
    folder.pid_file.write_text(content)
    folder.wait_for_former()
    folder.close()


def test_long_state_directory_path_gets_a_short_socket(tmp_path: Path, binary: Path) -> None:
    state_dir = tmp_path / ("x" * 100)
    running = companion(state_dir, binary)
    running.start()
    socket = running.address.unix_path
    assert socket is not None
    assert len(os.fsencode(socket)) <= 107
    assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700
    put(running.address, 1)
    running.stop()
    assert not socket.parent.exists()
    again = companion(state_dir, binary)
    again.start()
    assert again.address.unix_path == socket
    again.stop()


def test_failed_start_raises_with_the_output_of_redis(tmp_path: Path, binary: Path) -> None:
    broken = RedisCompanion(tmp_path, binary=binary, max_memory=-5)
    with pytest.raises(CompanionError, match="Redis did not start: "):
        broken.start()
    working = companion(tmp_path, binary)
    working.start()
    working.stop()


def test_folder_that_cannot_be_created_raises(tmp_path: Path, binary: Path) -> None:
    (tmp_path / "state").write_text("a file")
    with pytest.raises(CompanionError, match="cannot be used"):
        companion(tmp_path / "state", binary)


def test_launch_without_file_descriptors_is_retried(running: RedisCompanion, caplog: pytest.LogCaptureFixture) -> None:
    assert running.pid is not None
    with no_descriptors_left():
        os.kill(running.pid, signal.SIGKILL)
        until(lambda: "Redis could not be launched: Too many open files" in caplog.text)
    until(lambda: answers(running.address))


@contextmanager
def no_descriptors_left() -> Iterator[None]:
    """Use up the file descriptors of this process until the block ends."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened = [os.open("/dev/null", os.O_RDONLY)]
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (opened[0] + 1, hard))
        with suppress(OSError):
            while True:
                opened.append(os.open("/dev/null", os.O_RDONLY))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in opened:
            os.close(descriptor)


def test_companion_without_its_socket_is_relaunched(running: RedisCompanion) -> None:
    assert running.address.unix_path is not None
    running.address.unix_path.unlink()
    until(lambda: running.relaunches == 1 and answers(running.address))


def test_stop_kills_a_frozen_companion(
    tmp_path: Path, binary: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(companion_process, "_STOP_SECONDS", 0.1)
    frozen = companion(tmp_path, binary)
    frozen.start()
    pid = frozen.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    frozen.stop()
    assert gone(pid)
    assert "Redis did not end; killing it" in caplog.text
