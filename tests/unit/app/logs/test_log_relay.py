"""Relay of the log: no line is lost to a stop or a crash, and no reader can stop the writers."""

import re
import subprocess
import sys

from app.logs.log_relay import LineQueue

SCRIPT = """
import os, signal, subprocess, sys
from app.logs.log_relay import relayed
def say(*numbers):
    sys.stderr.write("".join(f"line {number}\\n" for number in numbers))
with relayed(lambda count: f"left out {count}", 1 << 18):
"""


def started(body: str, *, non_blocking: bool = False) -> subprocess.Popen[bytes]:
    """Start a process that runs `body` within `relayed`.

    non_blocking: whether its standard error is, as some parents leave it.
    """
    before = f"os.set_blocking(2, {not non_blocking})\n"
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    command = [sys.executable, "-c", SCRIPT.replace("def say", f"{before}def say") + lines]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def log_of(body: str) -> str:
    """Run `body` within `relayed`, and return what it wrote to the standard error."""
    output, log = started(body).communicate(timeout=60)
    assert output == b""
    return log.decode()


def numbers(log: str) -> list[int]:
    return [int(number) for number in re.findall(r"line (\d+)", log)]


def test_text_of_all_processes_arrives_in_order() -> None:
    below = "import os; os.write(2, b'line 3\\\\n'); os.write(1, b'line 4')"
    killed = "if os.fork() == 0:\n    say(5)\n    os.kill(os.getpid(), signal.SIGKILL)\nos.wait()"
    log = log_of(
        f'say(1)\nprint("line 2", flush=True)\nsubprocess.run([sys.executable, "-c", "{below}"])\n{killed}\nsay(6)'
    )
    assert numbers(log) == [1, 2, 3, 4, 5, 6]


def test_tracebacks_of_crashes_arrive() -> None:
    log = log_of(
        "if os.fork() == 0:\n    raise RuntimeError('a defect')\nos.wait()\nsay(1)\nraise KeyError('the last')"
    )
    assert "RuntimeError: a defect\nline 1\nTraceback" in log
    assert log.endswith("KeyError: 'the last'\n")


def test_unread_pipe_delays_writer_only_by_last_flush() -> None:
    # Four times the room of the queue and of both pipes.
    with started("say(*range(150_000))") as writer:
        assert writer.wait(30) == 0
        assert writer.stderr is not None
        # The pipe may cut the last line.
        found = numbers(writer.stderr.read().decode())[:-1]
    assert found == list(range(len(found)))


def test_text_reaches_a_non_blocking_pipe_whole() -> None:
    with started("say(*range(15_000))", non_blocking=True) as writer:
        assert numbers(writer.communicate(timeout=30)[1].decode()) == list(range(15_000))


def test_stop_signals_leave_the_relay_running() -> None:
    body = """\
for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT:
    signal.signal(number, signal.SIG_IGN)
os.killpg(0, signal.SIGTERM)
"""
    assert numbers(log_of(f"os.setsid()\n{body}say(1)")) == [1]


def test_relay_ends_after_a_killed_process() -> None:
    with started("print('begun', flush=True)\nsys.stdin.read()") as writer:
        assert writer.stderr is not None
        assert writer.stderr.readline() == b"begun\n"
        writer.kill()
        # The relay has the last descriptor of the pipe.
        assert writer.stderr.read() == b""


def test_lines_that_do_not_fit_are_counted_in_their_place() -> None:
    queue = LineQueue(capacity=4, notice=lambda count: f"left out {count}")
    for line in (b"1\n", b"2\n", b"3\n", b"4\n"):
        queue.put(line)
    assert queue.take() == b"1\n2\n"
    queue.put(b"5\n")
    assert queue.take() == b"left out 3\n"
    queue.put(b"6\n")
    queue.end()
    assert queue.take() == b"6\n"
    assert queue.take() == b""


def test_line_as_long_as_the_queue_is_left_out() -> None:
    queue = LineQueue(capacity=4, notice=lambda count: f"left out {count}")
    queue.put(b"12345\n")
    assert queue.take() == b"left out 1\n"
