"""Staged folders and locks where a process has no more room, or is killed."""

import os
import subprocess
import sys
from pathlib import Path

from models.staging import exclusive


def run_script(script: str, target: Path) -> "subprocess.CompletedProcess[str]":
    root = Path(__file__).parents[2]
    return subprocess.run(
        [sys.executable, "-c", script, str(target)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_full_disk_is_named_with_its_place_and_leaves_nothing(tmp_path: Path) -> None:
    # The limit on the size of one file stands for the full disk, in a process of its own: it is everybody's there.
    script = (
        "import resource, sys; from pathlib import Path\n"
        "from models.errors import DiskFullError; from models.staging import staged\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try:\n"
        "    with staged(Path(sys.argv[1])) as partial: (partial / 'a').write_bytes(bytes(10_000))\n"
        "except DiskFullError as error: print(error)"
    )
    done = run_script(script, tmp_path / "model")
    assert str(tmp_path) in done.stdout
    assert "free some space" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_maker_that_was_killed_does_not_hold_the_lock(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys; from pathlib import Path; from models.staging import exclusive\n"
        "with exclusive(Path(sys.argv[1]), print): os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = run_script(script, tmp_path / "model")
    assert done.returncode == -9
    lines: list[str] = []
    with exclusive(tmp_path / "model", lines.append):
        assert lines == []
