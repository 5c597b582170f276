"""Thread that sends frames to the ranks."""

from collections.abc import Sequence
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread


class FrameSender:
    """Queue of frames that a thread sends to several pipes in order.

    `send` never blocks, because it is called on the event loop and a stopped process does not drain its pipe.
    """

    def __init__(self, pipes: Sequence[Connection]) -> None:
        self._pipes = pipes
        self._frames: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="ranks-send", daemon=True)
        self._thread.start()

    def send(self, frame: bytes) -> None:
        """Queue `frame` for every pipe. After a process has died, frames are dropped. The reader detects the death."""
        self._frames.put(frame)

    def close(self) -> None:
        """Stop the thread. Call this after the processes at the other ends have exited."""
        self._frames.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (frame := self._frames.get()) is not None:
            for pipe in self._pipes:
                try:
                    pipe.send_bytes(frame)
                except OSError:
                    return
