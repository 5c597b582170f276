"""Full runs of `bench.turns` with real server processes, of a stub that takes Ebb's flags."""

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from bench import arms
from bench.turns import main
from tests.sizes import TOOL

pytestmark = TOOL

STUB = (sys.executable, str(Path(__file__).parents[1] / "bench_stub_server.py"))


def test_quick_run_measures_every_section_and_writes_all_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--quick", "--out", str(tmp_path)], STUB) == 0

    report = json.loads((tmp_path / "turns.json").read_text())
    rows = {(row["arm"], row["turn"]): row for row in report["conversations"]["rows"]}
    off, cpu, redis = (rows[arm, 3] for arm in (arms.NO_REUSE, arms.CPU, arms.ALL))
    assert off["computed"] == off["prompt_tokens"] == cpu["prompt_tokens"]
    assert cpu["cpu"] > 0
    assert cpu["disk"] == 0
    assert redis["disk"] > redis["cpu"] == 0, "turn 3 follows the kill, so no block can come from memory"
    assert [each["equal_of_all"] for each in report["conversations"]["equality"]] == [1, 1]
    assert report["returning"]["rounds"][0]["no_reuse"]["cpu"] == 0
    assert report["returning"]["rounds"][0]["from_cpu"]["device"] < 10
    assert report["returning"]["rounds"][0]["from_cpu"]["cpu"] > 150
    assert report["returning"]["rounds"][0]["from_disk"]["disk"] > 150
    assert [each["dtype"] for each in report["exactness"]] == ["bfloat16", "float32"]
    assert report["step_time"]["tiers_on_ms"]["count"] > 0
    assert len(report["targets"]) == 7
    assert "## A returning turn" in (tmp_path / "turns.md").read_text()
    assert (tmp_path / "turns.png").read_bytes().startswith(b"\x89PNG")
    for text in ((tmp_path / "turns.json").read_text(), (tmp_path / "turns.md").read_text()):
        assert socket.gethostname() not in text
        assert str(Path(sys.executable).parent) not in text
        assert "/tmp" not in text
    progress = capsys.readouterr().err
    assert "kill -9 of 'device + CPU + Redis + disk'" in progress
    assert "turn 3" in progress


def test_server_that_cannot_start_fails_with_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    command = (sys.executable, "-c", "raise SystemExit('no room')")

    assert main(["--quick", "--sections", "returning"], command) == 1
    assert "exited during its start:\nno room" in capsys.readouterr().err


def test_sigterm_ends_the_servers_as_well() -> None:
    program = f"import sys; from bench.turns import main; sys.exit(main(['--quick'], {STUB!r}))"
    bench = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
    assert bench.stderr is not None
    with bench.stderr as progress:
        next(line for line in progress if "is ready" in line)
        servers = Path(f"/proc/{bench.pid}/task/{bench.pid}/children").read_text().split()
        assert servers
        bench.terminate()
        progress.read()

    assert bench.wait(30) == 128 + signal.SIGTERM
    assert not any(Path("/proc", server).exists() for server in servers)
