"""Smoothness of a page in Chromium: late frames, long tasks and computing time while something happens."""

import json
import os
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from playwright.async_api import Page

T = TypeVar("T")

FRAME_GAP_MS = 50.0
"""Duration of three frames at 60 Hz, which a person sees as a jerk."""
RENDERER, TASK = "CrRendererMain", "ThreadControllerImpl::RunTask"
MICROTASKS = "BlinkScheduler_PerformMicrotaskCheckpoint"
"""Names in Chromium's traces: of a page's main thread, of one task on it, and of the microtasks after a task.

The browser counts those microtasks as a part of the task when it reports a long one. In the trace they follow it.
"""

WATCH = """() => {
    const seen = window.seen = {tasks: [], gaps: []};
    new PerformanceObserver(list => seen.tasks.push(...list.getEntries().map(({duration}) => duration)))
        .observe({type: "longtask"});
    let last = performance.now();
    const frame = () => {
        const now = performance.now();
        seen.gaps.push(now - last);
        last = now;
        requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
}"""


@dataclass(frozen=True, slots=True)
class Smoothness:
    """Frames and tasks of a page during a stretch of time.

    dropped: frames that came more than FRAME_GAP_MS after their predecessor.
    long_tasks: tasks of over 50 ms.
    longest_task_computed_ms: computing time of the longest task. During the rest of it, other work had the processor.
    most_computed_ms: computing time of the task that computed longest, which need not be the longest task.
    computed_seconds: computing time of all tasks of the page's thread.
    stolen_ms: time for which the host of a virtual machine kept back one of its processors.
    """

    name: str
    seconds: float
    frames: int
    dropped: int
    longest_gap_ms: float
    long_tasks: int
    longest_task_ms: float
    longest_task_computed_ms: float
    most_computed_ms: float
    computed_seconds: float
    stolen_ms: float


async def measured(page: Page, name: str, doing: Awaitable[T]) -> tuple[Smoothness, T]:
    """Measure the page while `doing` runs. Return its smoothness and the result of `doing`."""
    browser = page.context.browser
    assert browser is not None
    await browser.start_tracing(page=page, categories=["-*", "toplevel"])
    await page.evaluate(WATCH)
    stolen_ms = _stolen_ms()
    result = await doing
    stolen_ms = _stolen_ms() - stolen_ms
    seen: dict[str, list[float]] = await page.evaluate("window.seen")
    traced = _tasks_ms(json.loads(await browser.stop_tracing())["traceEvents"])
    tasks, gaps = seen["tasks"], seen["gaps"]
    smooth = Smoothness(
        name,
        sum(gaps) / 1e3,
        len(gaps),
        sum(gap > FRAME_GAP_MS for gap in gaps),
        max(gaps, default=0.0),
        len(tasks),
        max(tasks, default=0.0),
        max(traced)[1],
        max(computed for _, computed in traced),
        sum(computed for _, computed in traced) / 1e3,
        stolen_ms,
    )
    return smooth, result


async def longest_task_ms(page: Page) -> float:
    """Return the longest task since WATCH began, in ms; 0 if none took more than 50 ms."""
    longest: float = await page.evaluate("Math.max(0, ...window.seen.tasks)")
    return longest


def _stolen_ms() -> float:
    """Return the time since the start of Linux for which the host kept back a processor, summed over all of them."""
    ticks = int(Path("/proc/stat").read_text().split(maxsplit=9)[8])
    return ticks * 1e3 / os.sysconf("SC_CLK_TCK")


def _tasks_ms(events: Sequence[Mapping[str, Any]]) -> list[tuple[float, float]]:
    """List the duration and the computing time of the page's tasks with their microtasks, in ms.

    The page's thread is the renderer thread that computed most.
    """
    renderers = {(each["pid"], each["tid"]) for each in events if each.get("args", {}).get("name") == RENDERER}
    found: dict[tuple[int, int], list[Mapping[str, Any]]] = {}
    for each in events:
        thread = (each["pid"], each["tid"])
        if each["name"] in (TASK, MICROTASKS) and each.get("ph") == "X" and thread in renderers:
            found.setdefault(thread, []).append(each)
    return max((_joined_ms(each) for each in found.values()), key=lambda tasks: sum(computed for _, computed in tasks))


def _joined_ms(events: Sequence[Mapping[str, Any]]) -> list[tuple[float, float]]:
    """Join the microtasks of one thread to the task before them. Microtasks within a task are a part of it already."""
    tasks: list[tuple[float, float]] = []
    began = ended = 0.0
    for each in sorted(events, key=lambda event: (event["ts"], -event.get("dur", 0))):
        duration, computed, end = each.get("dur", 0) / 1e3, each.get("tdur", 0) / 1e3, each["ts"] + each.get("dur", 0)
        if each["name"] == TASK:
            if each["ts"] < ended:
                continue
            tasks.append((duration, computed))
            began = each["ts"]
        elif tasks and each["ts"] >= ended:
            tasks[-1] = ((end - began) / 1e3, tasks[-1][1] + computed)
        ended = max(ended, end)
    return tasks
