"""Fork server of multiprocessing that is itself forked from a process which has imported torch and all tests.

multiprocessing starts an interpreter as its fork server, which would import both again in each worker of pytest.
"""

import fcntl
import json
import os
import socket
from collections.abc import Sequence
from multiprocessing import util
from typing import Any, Final

_PROGRAM: Final = "from multiprocessing.forkserver import main"
_MAX_FILES: Final = 16
_MAX_BYTES: Final = 1 << 20
_BEYOND_GIVEN: Final = 256
"""A descriptor from here on is not one of those that a program expects."""


def fork_fork_server() -> None:
    """Fork a child that waits until multiprocessing starts a fork server, and then becomes this fork server.

    The process must have a single thread. A second fork server is an interpreter, as without this function.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    child = os.fork()
    if child == 0:
        ours.close()
        try:
            _wait_to_serve(theirs)
        finally:
            os._exit(0)
    theirs.close()
    spawn = util.spawnv_passfds
    # Left open: its end is the end of the child.
    waiting = [ours.detach()]

    def spawn_or_use_child(path: bytes, args: Sequence[Any], passfds: Sequence[int]) -> int:
        program = args[-1]
        if not waiting or not program.startswith(_PROGRAM):
            return spawn(path, args, passfds)
        numbers = [0, 1, 2, *passfds]
        with socket.socket(fileno=waiting.pop()) as to_child:
            socket.send_fds(to_child, [json.dumps([numbers, program]).encode()], numbers)
        return child

    util.spawnv_passfds = spawn_or_use_child


def _wait_to_serve(parent: socket.socket) -> None:
    message, files, _, _ = socket.recv_fds(parent, _MAX_BYTES, _MAX_FILES)
    if not message:
        return
    numbers, program = json.loads(message)
    # First out of the way: a number may be in use here for another of the files.
    moved = [fcntl.fcntl(file, fcntl.F_DUPFD, _BEYOND_GIVEN) for file in files]
    for file in files:
        os.close(file)
    parent.close()
    for file, number in zip(moved, numbers, strict=True):
        os.dup2(file, number)
        os.close(file)
    exec(program, {})
