"""Freeze of start-up objects out of the garbage collector (`gc.freeze`), and its thresholds."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

GC_THRESHOLDS = (20_000, 5, 500)
"""Thresholds of the garbage collector. Python's own (700, 10, 10) are for small programs. With a thousand streams, a
collection of the oldest generation takes long enough to interrupt them all, so it must be rare. Unread log
probabilities make a million objects within seconds, so the middle generation must be small.
"""


@contextmanager
def frozen_objects() -> Iterator[None]:
    """Exclude all objects made inside from garbage collection.

    Imports create very many objects that live until the process ends. Collections during the imports would slow them
    down, and later ones would pause every thread now and then.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLDS)
        gc.enable()
