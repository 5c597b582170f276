"""`python -m bench.slow_link LISTEN TARGET`: a unix socket that forwards to another one like a slow network.

A line on standard input is a command, and each is answered with "ready". `<seconds> <bytes per second>` delays answers
by that time, and limits all connections together to that rate in each direction. `cut` ends all connections, even in
the middle of a value.
"""

import contextlib
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path
from typing import Final

FAST: Final = 1e9
_PIECE: Final = 1 << 18
_PIECE_SECONDS: Final = 0.005
_AHEAD_SECONDS: Final = 0.02


class Direction:
    """Delay and rate of one direction, shared by all connections."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.rate = FAST
        self._lock = threading.Lock()
        self._free_at = 0.0

    @property
    def piece(self) -> int:
        """Number of bytes to forward at once, so that a slow link moves smoothly."""
        return max(1024, min(_PIECE, int(self.rate * _PIECE_SECONDS)))

    def due(self, nbytes: int) -> float:
        """Reserve the link for `nbytes` bytes. Return the time at which they arrive."""
        with self._lock:
            self._free_at = max(self._free_at, time.monotonic()) + nbytes / self.rate
            return self._free_at + self.seconds

    @property
    def ahead(self) -> float:
        """Seconds for which the link is reserved."""
        return self._free_at - time.monotonic()


class Pipe:
    """One direction of one connection, with a thread that reads and one that delivers."""

    def __init__(self, source: socket.socket, target: socket.socket, direction: Direction) -> None:
        self._source, self._target, self._direction = source, target, direction
        self._waiting: deque[tuple[float, bytes]] = deque()
        self._condition = threading.Condition()
        for work in (self._read, self._deliver):
            threading.Thread(target=work, daemon=True).start()

    def _read(self) -> None:
        data = b"first"
        while data:
            try:
                data = self._source.recv(self._direction.piece)
            except OSError:
                data = b""
            due = self._direction.due(len(data))
            with self._condition:
                self._waiting.append((due, data))
                self._condition.notify()
            time.sleep(max(0.0, self._direction.ahead - _AHEAD_SECONDS))

    def _deliver(self) -> None:
        while True:
            with self._condition:
                while not self._waiting:
                    self._condition.wait()
                due, data = self._waiting.popleft()
            time.sleep(max(0.0, due - time.monotonic()))
            try:
                if not data:
                    raise OSError
                self._target.sendall(data)
            except OSError:
                self.cut()
                return

    def cut(self) -> None:
        """End both connections."""
        for end in (self._source, self._target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class SlowLink:
    """Process of a link that is as fast as possible until `set` is called. Use as a context manager."""

    def __init__(self, listen: Path, target: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.slow_link", str(listen), str(target)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.set(0.0, FAST)

    def set(self, seconds: float, rate: float) -> None:
        """Set the delay of answers in seconds, and the rate in bytes per second."""
        self._tell(f"{seconds} {rate}")

    def cut(self) -> None:
        """End all connections. New ones are accepted at once."""
        self._tell("cut")

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        self._process.stdout.readline()

    def __enter__(self) -> "SlowLink":
        return self

    def __exit__(self, *_: object) -> None:
        with self._process as process:
            process.kill()


def serve(server: socket.socket, target: Path, up: Direction, down: Direction, pipes: list[Pipe]) -> None:
    """Accept connections forever, and forward each to `target`."""
    while True:
        near, _ = server.accept()
        far = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            far.connect(str(target))
        except OSError:
            near.close()
            far.close()
            continue
        pipes += (Pipe(near, far, up), Pipe(far, near, down))


def main() -> None:
    """Execute commands until standard input ends."""
    up, down, pipes = Direction(), Direction(), list[Pipe]()
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(sys.argv[1])
    server.listen(64)
    threading.Thread(target=serve, args=(server, Path(sys.argv[2]), up, down, pipes), daemon=True).start()
    for line in sys.stdin:
        if line.strip() == "cut":
            for pipe in pipes:
                pipe.cut()
            pipes.clear()
        else:
            seconds, rate = map(float, line.split())
            down.seconds, up.rate, down.rate = seconds, rate, rate
        print("ready", flush=True)


if __name__ == "__main__":
    main()
