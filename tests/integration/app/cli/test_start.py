"""The command `ebb` where other folders on Python's path have packages named like those of Ebb."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.version import VERSION

SCRIPT = "import sys\nfrom ebb_start import main\nsys.exit(main())\n"
"""What an installation writes to the file `ebb`."""


def run(folder: Path, *path: str) -> subprocess.CompletedProcess[str]:
    """Run `ebb --version` from a script in `folder`, with PYTHONPATH."""
    (folder / "ebb").write_text(SCRIPT)
    command = [sys.executable, str(folder / "ebb"), "--version"]
    environment = {"HOME": "/nowhere", "PYTHONPATH": os.pathsep.join(path)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("module", ["app.py", "models/__init__.py"])
def test_modules_of_the_same_names_do_not_hide_ebb(tmp_path: Path, module: str) -> None:
    project, script = tmp_path / "project", tmp_path / "bin"
    for folder in (project, script):
        (folder / module).parent.mkdir(parents=True)
        (folder / module).write_text("raise SystemExit('the wrong module')\n")
    done = run(script, str(project), "/nowhere")
    assert (done.stdout, done.stderr) == (f"ebb {VERSION}\n", "")


def test_other_folders_of_the_path_stay(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import atexit, os\natexit.register(lambda: print(os.environ['PYTHONPATH']))\n"
    )
    (tmp_path / "models").mkdir()
    (tmp_path / "hiding").mkdir()
    (tmp_path / "hiding" / "app.py").write_text("")
    done = run(tmp_path, str(tmp_path / "hiding"), str(tmp_path))
    assert done.stdout == f"ebb {VERSION}\n{tmp_path}\n"
