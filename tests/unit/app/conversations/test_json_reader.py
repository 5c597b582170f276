"""Large values of imported files: how long the reading of one keeps other threads from running."""

import sys
import threading
import time
from collections.abc import Iterator

import pytest

from app.conversations.json_reader import JsonReader

COUNT = 100_000


@pytest.fixture(autouse=True)
def switches_of_a_server() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.0005)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("element", ['{"a": 1}', "123", "1.5"])
def test_other_threads_run_within_one_value(element: str) -> None:
    reader = JsonReader(f"[{', '.join([element] * COUNT)}]")
    begun, turns, is_done = threading.Event(), 0, False

    def read() -> None:
        nonlocal is_done
        begun.set()
        reader.value()
        is_done = True

    thread = threading.Thread(target=read)
    thread.start()
    begun.wait(20)
    while not is_done:
        turns += 1
        time.sleep(0)
    thread.join()
    assert turns > 5
