"""Graphs of several sizes: a step runs in the smallest one that holds it."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from engine.worker.torch.device import Device, Graph

Bucket = TypeVar("Bucket")


def buckets_up_to(rows: int, sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the first of `sizes`, ascending, up to one that holds `rows`, or all if none does."""
    rows = min(rows, sizes[-1])
    return (*(size for size in sizes if size < rows), next(size for size in sizes if size >= rows))


def capture_buckets(
    device: Device, sizes: Sequence[int], capture: Callable[[int, Graph], Bucket]
) -> list[Bucket] | None:
    """Capture a graph of each of `sizes`, and return them in this order; None if `device` does not capture work.

    The largest is captured first, so that the smaller ones reuse its memory.
    """
    captured: list[Bucket] = []
    for size in reversed(sizes):
        graph = device.new_graph()
        if graph is None:
            return None
        captured.insert(0, capture(size, graph))
    return captured
