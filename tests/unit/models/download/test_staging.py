import threading
from pathlib import Path

import pytest

from models.download.staging import exclusive, staged


def test_folder_appears_only_when_complete(tmp_path: Path) -> None:
    target = tmp_path / "model"
    with staged(target) as partial:
        (partial / "a").write_text("1")
        assert not target.exists()
    assert (target / "a").read_text() == "1"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_failure_leaves_no_files(tmp_path: Path) -> None:
    def make() -> None:
        with staged(tmp_path / "model") as partial:
            (partial / "a").write_text("1")
            (partial / "b").read_text()

    with pytest.raises(FileNotFoundError):
        make()
    assert list(tmp_path.iterdir()) == []


def test_remains_of_interrupted_run_are_removed(tmp_path: Path) -> None:
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


def test_second_process_reports_waiting_and_then_continues(tmp_path: Path) -> None:
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
