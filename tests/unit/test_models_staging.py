import os
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from models.errors import DiskFullError
from models.staging import exclusive, staged


@pytest.fixture
def small_files() -> Iterator[None]:
    """Files beyond 4 KiB cannot be written, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


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


@pytest.mark.usefixtures("small_files")
def test_a_full_disk_is_named_with_its_place_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(DiskFullError, match=f"{tmp_path}.*free some space"), staged(tmp_path / "model") as partial:
        (partial / "a").write_bytes(bytes(10_000))
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
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "model")], cwd=root, env={**os.environ, "PYTHONPATH": str(root)}
    )
    assert done.returncode == -9
    lines: list[str] = []
    with exclusive(tmp_path / "model", lines.append):
        assert lines == []
