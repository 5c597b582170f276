import asyncio
import time

from app.loop_lag import PROBE_SECONDS, LoopLag

BLOCKED_SECONDS = 4 * PROBE_SECONDS


async def test_a_stop_of_the_event_loop_is_seen_but_for_one_interval() -> None:
    seen, rang = list[float](), asyncio.Event()

    def observe(seconds: float) -> None:
        seen.append(seconds)
        rang.set()

    probe = LoopLag(observe)
    probe.begin()
    time.sleep(BLOCKED_SECONDS)  # noqa: ASYNC251
    await rang.wait()
    probe.stop()
    assert seen[0] >= BLOCKED_SECONDS - PROBE_SECONDS
