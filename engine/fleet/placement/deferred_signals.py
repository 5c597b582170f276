"""Signal handlers of this process, kept while a library installs its own.

Python sets handlers on the main thread alone, and knows none that other code has set. This calls the C library.
"""

import ctypes
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_ACTION_BYTES: Final = 256
"""At least the size of a `struct sigaction`, which is 152 bytes with glibc."""


@contextmanager
def kept_handlers(*signals: signal.Signals) -> Iterator[None]:
    """Restore the handlers of `signals` when the context ends. Works on any thread."""
    libc = ctypes.CDLL(None)
    actions = [(number, ctypes.create_string_buffer(_ACTION_BYTES)) for number in signals]
    for number, action in actions:
        libc.sigaction(int(number), None, action)
    try:
        yield
    finally:
        for number, action in actions:
            libc.sigaction(int(number), action, None)
