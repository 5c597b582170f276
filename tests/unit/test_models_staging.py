import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from models.staging import exclusive, staged


def run_script(script: str, target: Path) -> "subprocess.CompletedProcess[str]":
    root = Path(__file__).parents[2]
    return subprocess.run(
        [sys.executable, "-c", script, str(target)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_the_folder_appears_with_all_its_files_only_at_the_end(tmp_path: Path) -> None:
    target = tmp_path / "model"
    with staged(target) as partial:
        (partial / "a").write_text("1")
        assert not target.exists()
    assert (target / "a").read_text() == "1"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    def make() -> None:
        with staged(tmp_path / "model") as partial:
            (partial / "a").write_text("1")
            (partial / "b").read_text()

    with pytest.raises(FileNotFoundError):
        make()
    assert list(tmp_path.iterdir()) == []


def test_what_an_interrupted_run_left_is_gone(tmp_path: Path) -> None:
    with staged(tmp_path / "model") as partial:
        remains = partial
    remains.mkdir()
    (remains / "half").write_text("x")
    with staged(tmp_path / "other"):
        pass
    assert remains.exists()
    (tmp_path / "model").rmdir()
    with staged(tmp_path / "model"):
        pass
    assert list((tmp_path / "model").iterdir()) == []


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


def test_a_second_maker_says_that_it_waits_and_goes_on_when_the_first_is_done(tmp_path: Path) -> None:
    waiting, entered = threading.Event(), threading.Event()

    def second() -> None:
        with exclusive(tmp_path / "model", lambda line: waiting.set()):
            entered.set()

    with exclusive(tmp_path / "model", print):
        thread = threading.Thread(target=second)
        thread.start()
        assert waiting.wait(10)
        assert not entered.is_set()
    thread.join(10)
    assert entered.is_set()


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
