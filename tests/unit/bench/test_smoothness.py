from typing import Any

from bench.smoothness import MICROTASKS, RENDERER, TASK, _tasks_ms


def _event(name: str, start: int, duration: int, computed: int) -> dict[str, Any]:
    return {"name": name, "ph": "X", "pid": 1, "tid": 1, "ts": start, "dur": duration, "tdur": computed}


def test_microtasks_count_as_part_of_the_task_before_them() -> None:
    thread = {"name": "thread_name", "ph": "M", "pid": 1, "tid": 1, "ts": 0, "args": {"name": RENDERER}}
    events = [
        thread,
        _event(MICROTASKS, 3_000, 40_000, 30_000),
        _event(TASK, 1_000, 2_000, 1_000),
        _event(TASK, 50_000, 20_000, 10_000),
        _event(MICROTASKS, 55_000, 5_000, 4_000),
    ]
    assert _tasks_ms(events) == [(42.0, 31.0), (20.0, 10.0)]
