"""Staged folders and locks when the disk is full or the process that holds them is killed."""

import os
import subprocess
import sys
from pathlib import Path

from models.download.staging import exclusive


def run_script(script: str, target: Path) -> "subprocess.CompletedProcess[str]":
    root = Path(__file__).parents[3]
    return subprocess.run(
        [sys.executable, "-c", script, str(target)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_full_disk_error_names_folder_and_leaves_no_files(tmp_path: Path) -> None:
    # RLIMIT_FSIZE stands in for a full disk. The limit holds for the whole process, so the script runs in its own.
    script = (
        "import resource, sys; from pathlib import Path\n"
        "from models.errors import DiskFullError; from models.download.staging import staged\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try:\n"
        "    with staged(Path(sys.argv[1])) as partial: (partial / 'a').write_bytes(bytes(10_000))\n"
        "except DiskFullError as error: print(error)"
    )
    done = run_script(script, tmp_path / "model")
    assert str(tmp_path) in done.stdout
    assert "free some space" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_killed_process_releases_lock(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys; from pathlib import Path; from models.download.staging import exclusive\n"
        "with exclusive(Path(sys.argv[1]), print): os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = run_script(script, tmp_path / "model")
    assert done.returncode == -9
    lines: list[str] = []
    with exclusive(tmp_path / "model", lines.append):
        assert lines == []
