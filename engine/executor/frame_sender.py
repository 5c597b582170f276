"""Sends frames to the ranks on a thread of its own."""

from collections.abc import Sequence
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread


class FrameSender:
    """Frames for several pipes, in their order. `send` never waits: a process that was stopped takes nothing once its
    pipe is full, and the caller is the event loop."""

    def __init__(self, pipes: Sequence[Connection]) -> None:
        self._pipes = pipes
        self._frames: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="ranks-send", daemon=True)
        self._thread.start()

    def send(self, frame: bytes) -> None:
        """Queue a frame for every pipe. Frames for a process that has died are dropped: the reader notices."""
        self._frames.put(frame)

    def close(self) -> None:
        """End the thread, once every process at the other end has ended."""
        self._frames.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (frame := self._frames.get()) is not None:
            for pipe in self._pipes:
                try:
                    pipe.send_bytes(frame)
                except OSError:
                    return
