"""How often `ebb serve` starts its server process again, and which ends are worth that."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.config.settings import Settings
from app.host import supervisor
from app.host.ended_server import RESTART
from app.host.listeners import listen_on
from app.host.start_step import StartStep
from engine.process.restart_budget import RestartBudget

SCRIPT = """
import os, signal, sys
from pathlib import Path
from app.config.settings import Settings
from app.host.supervisor import supervise
from engine.process.restart_budget import RestartBudget
state = Path(sys.argv[1])
settings = Settings(state_dir=state, cache_dir=state, secret_file=state / "secret", port=0)
def serve(listeners, step):
    with (state / "served").open("a") as served:
        served.write(f"{listeners.port}\\n")
    {end}
sys.exit(supervise(settings, serve, RestartBudget((0.0, 0.0), seconds=600.0)))
"""


def supervised(state: Path, end: str) -> tuple[int, list[str], str]:
    """Run a server process whose last statement is `end`; returns the exit status, the port of each run and the log."""
    command = [sys.executable, "-c", SCRIPT.replace("{end}", end), str(state)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, (state / "served").read_text().splitlines(), done.stderr


def test_restarts_pause_longer_each_time_until_none_is_left() -> None:
    budget = RestartBudget(pauses=(0.0, 1.0, 2.0), seconds=100.0)
    assert [budget.spend(now) for now in (0.0, 10.0, 20.0, 30.0)] == [0.0, 1.0, 2.0, None]


def test_restarts_of_long_ago_do_not_count() -> None:
    budget = RestartBudget(pauses=(0.0, 1.0), seconds=100.0)
    assert [budget.spend(now) for now in (0.0, 99.0, 100.0, 150.0, 199.0)] == [0.0, 1.0, 1.0, None, 1.0]


@pytest.mark.parametrize("status", [0, 1, 2])
def test_a_server_that_ends_by_itself_is_not_restarted(tmp_path: Path, status: int) -> None:
    code, runs, log = supervised(tmp_path, f"return {status}")
    assert (code, len(runs)) == (status, 1)
    assert "restarting it" not in log


@pytest.mark.parametrize(
    ("end", "status", "words"),
    [
        (f"return {RESTART}", RESTART, "asked for a restart"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", 128 + signal.SIGSEGV, "was killed by SIGSEGV"),
    ],
)
def test_a_server_that_keeps_failing_is_given_up(tmp_path: Path, end: str, status: int, words: str) -> None:
    code, runs, log = supervised(tmp_path, end)
    assert code == status
    assert len(runs) == 3
    assert len(set(runs)) == 1, "every server process must have the same port"
    assert log.count(f"the server process {words}; restarting it (") == 2
    assert f"the server process {words}; too many restarts, giving up" in log


@pytest.mark.parametrize(("limit", "is_named"), [("2097152", True), ("unlimited", False)])
def test_limit_of_address_space_is_named(tmp_path: Path, limit: str, is_named: bool) -> None:
    script = SCRIPT.replace("{end}", "return 0")
    command = ["bash", "-c", f'ulimit -S -v {limit} && exec "$@"', "bash", sys.executable, "-c", script]
    done = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, check=True, timeout=60)
    assert ("the address space of each process is limited to 2 GiB" in done.stderr) is is_named


def test_orphans_of_a_container_are_reaped(tmp_path: Path) -> None:
    # In a container the supervising process is process 1, and orphans become its children.
    subreaper = "__import__('ctypes').CDLL(None).prctl(36, 1)\nsys.exit(supervise("
    script = SCRIPT.replace("sys.exit(supervise(", subreaper)
    orphan = "if os.fork() == 0:\n        if os.fork() == 0:\n            os._exit(0)\n        os._exit(0)\n"
    end = f"{orphan}    os.wait()\n    return 3"
    command = [sys.executable, "-c", script.replace("{end}", end), str(tmp_path)]
    assert subprocess.run(command, capture_output=True, check=False, timeout=60).returncode == 3


def test_a_state_directory_that_cannot_be_locked_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "serve.lock").mkdir()
    command = [sys.executable, "-c", SCRIPT.replace("{end}", "return 0"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert f"--state-dir {tmp_path} cannot be used: Is a directory" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("host", "port", "advice"),
    [
        ("192.0.2.1", 0, "--host takes a name or an address of this machine"),
        ("nosuch.invalid", 0, "--host takes a name or an address of this machine"),
        ("127.0.0.1", None, "choose another port with --port"),
    ],
)
def test_address_that_cannot_be_used_names_its_setting(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, host: str, port: int | None, advice: str
) -> None:
    taken = listen_on("127.0.0.1", 0)
    settings = Settings(
        state_dir=tmp_path,
        cache_dir=tmp_path,
        secret_file=tmp_path / "secret",
        host=host,
        port=taken.getsockname()[1] if port is None else port,
    )
    assert supervisor.claim(settings) is None
    assert f"cannot listen on {host} port" in caplog.text
    assert f"({advice})" in caplog.text
    taken.close()


def test_a_dying_server_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = listen_on("127.0.0.1", 0)
    port = before.getsockname()[1]
    locks = iter([None, None, 5])
    naps: list[float] = []

    def nap(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 3:
            before.close()

    monkeypatch.setattr(supervisor, "lock_state_dir", lambda _: next(locks))
    monkeypatch.setattr(time, "sleep", nap)
    settings = Settings(state_dir=tmp_path, cache_dir=tmp_path, secret_file=tmp_path / "secret", port=port)
    listeners = supervisor.claim(settings)
    assert listeners is not None
    assert (listeners.port, listeners.ollama_port) == (port, None)
    assert len(naps) == 3
    listeners.close()


FAKE_KILLS = """
from app.host import ended_server
from engine.process.control_groups import MemoryGroup
kills = state / "kills"
ended_server.num_oom_kills = lambda: kills.stat().st_size if kills.exists() else 0
ended_server.memory_group = lambda: MemoryGroup(1 << 30, 0)
def killed_for_memory():
    with kills.open("a") as more:
        more.write("x")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def supervised_without_memory(state: Path, end: str) -> tuple[int, list[str], str]:
    """Run `supervised` with a `killed_for_memory` that `end` may call."""
    script = SCRIPT.replace("def serve(", f"{FAKE_KILLS}def serve(").replace("{end}", end)
    command = [sys.executable, "-c", script, str(state)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, (state / "served").read_text().splitlines(), done.stderr


def test_server_that_lacks_memory_at_one_step_is_given_up(tmp_path: Path) -> None:
    end = "step.report(f'opening {1000 + len((state / \"served\").read_text())} MiB'); killed_for_memory()"
    code, runs, log = supervised_without_memory(tmp_path, end)
    assert (code, len(runs)) == (128 + signal.SIGKILL, 2)
    assert "because the kernel lacked memory for it (limit: 1 GiB) while it started, at the step 'opening 10" in log
    assert "lower --kv-memory, --cpu-kv-memory or --redis-memory" in log
    assert "the start before ended in the same way, giving up" in log


def test_server_that_lacks_memory_while_serving_restarts(tmp_path: Path) -> None:
    code, runs, log = supervised_without_memory(
        tmp_path, "step.report('opening'); step.report(''); killed_for_memory()"
    )
    assert (code, len(runs)) == (128 + signal.SIGKILL, 3)
    assert "because the kernel lacked memory for it (limit: 1 GiB): lower --kv-memory" in log
    assert "too many restarts, giving up" in log


def test_kill_without_a_lack_of_memory_names_only_the_signal(tmp_path: Path) -> None:
    code, runs, log = supervised_without_memory(tmp_path, "os.kill(os.getpid(), signal.SIGKILL)")
    assert (code, len(runs)) == (128 + signal.SIGKILL, 3)
    assert "the server process was killed by SIGKILL; restarting it (1 of 2" in log


def test_step_of_the_start_is_cut_between_characters() -> None:
    step = StartStep()
    step.report("ä" * 200)
    assert step.sentence == "ä" * 128
    step.report("x" + "ä" * 200)
    assert step.sentence == "x" + "ä" * 127
    step.report("x\udcff")
    assert step.sentence == "x\\udcff"
    step.report("")
    assert (step.sentence, step.kind) == ("", "")
