"""`ebb serve` on machines with odd limits, environments, folders and clocks."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bench.server import server_pid
from tests.integration.app.host.test_server_life import WHOLE_ANSWER, asked, serving
from tests.integration.sse_events import all_events
from tests.redis_server import free_port
from tests.server_environment import server_environment
from tests.sizes import LARGE, Size
from tests.waiting import until

EBB = "import sys; from app.cli.main import main; sys.exit(main())"
QUESTION = {"model": "smollm2-135m-instruct", "prompt": "Hello", "max_tokens": 8}

ODD_NAME = "a 'b\" $c %d #e?\n\U0001f600\udcff"

NO_WORDS = {
    "LANG": "xx_XX.nonsense",
    "LC_ALL": "C",
    "PYTHONUTF8": "0",
    "PYTHONCOERCECLOCALE": "0",
    "TZ": "Nowhere/Kiritimati",
    "TMPDIR": "/nowhere",
    "NO_COLOR": "1",
    "TERM": "dumb",
}
DEAD_PROXIES = dict.fromkeys(("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:1")


@contextmanager
def odd_server(
    folder: Path,
    *,
    setup: str = "",
    environment: Mapping[str, str] | None = None,
    python: Sequence[str] = (),
    flags: Sequence[str] = (),
    name: str = "state",
    host: str = "127.0.0.1",
) -> Iterator[str]:
    """Run the server after the statements `setup` of bash, and yield its URL once it is ready. Check its end.

    python: options of Python. name: that of the state directory.
    """
    port, log = free_port(), folder / "log"
    given = server_environment(environment)
    place = ["--host", host, "--port", str(port), "--state-dir", str(folder / name)]
    command = [sys.executable, *python, "-c", EBB, "serve", *place, *flags]
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["bash", "-c", f'{setup}\nexec "$@"', "bash", *command], env=given, stdout=output, stderr=output
        )
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    try:
        until(lambda: process.poll() is not None or is_ready(url), timeout=120)
        assert process.poll() is None, log.read_text()
        yield url
        process.terminate()
        assert process.wait(30) == 0, log.read_text()
        assert "Traceback" not in log.read_text(), log.read_text()
    finally:
        process.kill()
        process.wait()


def is_ready(url: str) -> bool:
    try:
        urllib.request.urlopen(f"{url}/ready", timeout=5).close()
    except OSError:
        return False
    return True


def fetched(url: str, body: Mapping[str, Any] | None = None) -> Any:
    """Return the JSON of a response, to a POST if there is a body."""
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as response:
        return json.load(response)


def computed(url: str) -> int:
    """Complete a text, and return the number of its tokens."""
    return int(fetched(f"{url}/v1/completions", QUESTION)["usage"]["completion_tokens"])


@LARGE
@pytest.mark.parametrize(
    "oddity",
    [
        pytest.param({"environment": NO_WORDS, "setup": "umask 777"}, id="locale-umask-and-no-tmpdir"),
        pytest.param({"name": ODD_NAME}, id="odd-state-directory"),
        pytest.param({"python": ["-OO"], "environment": {"PYTHONWARNINGS": "error"}}, id="optimized-and-strict"),
        pytest.param({"environment": {"PYTHONDEVMODE": "1"}, "flags": ["--redis-url", "off"]}, id="development-mode"),
        pytest.param({"setup": "taskset -pc 0 $$ >/dev/null; renice 19 $$ >/dev/null"}, id="one-slow-core"),
        pytest.param({"setup": "ulimit -n 256 -l 0", "environment": {"OMP_NUM_THREADS": "64"}}, id="low-limits"),
        pytest.param({"setup": "ulimit -S -n 64", "host": "::1"}, id="few-files-and-ipv6"),
        # With less than 80 KiB, Python itself does not start.
        pytest.param({"setup": "ulimit -s 96", "flags": ["--redis-url", "off"]}, id="small-stack"),
        pytest.param(
            {"setup": "umask 000", "environment": {"OMP_NUM_THREADS": "1"}, "name": "n" * 240, "host": "localhost"},
            id="open-umask-and-long-name",
        ),
        pytest.param({"environment": DEAD_PROXIES, "setup": "exec <&- >&-"}, id="dead-proxies-and-closed-files"),
    ],
)
def test_odd_machine_gets_answers(tmp_path: Path, model_path: Path, oddity: dict[str, Any]) -> None:
    with odd_server(tmp_path, **oddity) as url:
        assert computed(url) > 0
    modes = {path.stat().st_mode & 0o077 for path in (tmp_path / oddity.get("name", "state")).rglob("*")}
    assert modes == {0}


@LARGE
def test_server_without_terminal_keeps_answering_on_other_cores(tmp_path: Path, model_path: Path) -> None:
    """Ignore SIGHUP as nohup does, in a folder behind a link, and take and give back a core while the server runs."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "state").symlink_to(tmp_path / "elsewhere")
    with odd_server(tmp_path, setup=f"trap '' HUP; echo $$ > '{tmp_path}/pid'") as url:
        supervisor = int((tmp_path / "pid").read_text())
        server, cores = server_pid(supervisor), os.sched_getaffinity(0)
        assert server is not None
        for pid in (supervisor, server):
            os.kill(pid, signal.SIGHUP)
        for given in ({min(cores)}, cores):
            for thread in Path(f"/proc/{server}/task").iterdir():
                os.sched_setaffinity(int(thread.name), given)
            assert computed(url) > 0


@LARGE
def test_model_without_compiler_or_files_keeps_answering(tmp_path: Path, model_path: Path) -> None:
    """Serve without a compiler from an empty cache, and delete the model's folder while it serves."""
    folder = tmp_path / model_path.name
    shutil.copytree(model_path, folder)
    flags = ("--model", str(folder), "--cache-dir", str(tmp_path / "cache"), "--redis-url", "off")
    with odd_server(tmp_path, setup="export PATH=/nowhere", flags=flags) as url:
        assert "there is no C++ compiler on PATH" in (tmp_path / "log").read_text()
        shutil.rmtree(folder)
        assert int(fetched(f"{url}/v1/completions", {**QUESTION, "model": folder.name})["usage"]["total_tokens"]) > 0


@LARGE
def test_dead_proxies_do_not_stop_terminal_chat(tmp_path: Path, model_path: Path) -> None:
    with odd_server(tmp_path, flags=["--redis-url", "off"]) as url:
        command = [sys.executable, "-c", EBB, "chat", "--port", url.rpartition(":")[2]]
        given = dict(os.environ) | DEAD_PROXIES
        done = subprocess.run(
            command, input="hello\n", env=given, capture_output=True, text=True, check=True, timeout=60
        )
        assert "prompt tokens" in done.stdout
        assert "\x1b" not in done.stdout


CLOCK = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static long step() {
    char text[32] = {0};
    int file = open(getenv("CLOCK_STEP"), O_RDONLY);
    if (file < 0) return 0;
    if (read(file, text, sizeof text - 1) < 0) text[0] = 0;
    close(file);
    return atol(text);
}
extern "C" int clock_gettime(clockid_t clock, struct timespec *now) {
    int status = (int)syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME) now->tv_sec += step();
    return status;
}
extern "C" int gettimeofday(struct timeval *now, void *) {
    struct timespec fine;
    int status = clock_gettime(CLOCK_REALTIME, &fine);
    now->tv_sec = fine.tv_sec, now->tv_usec = fine.tv_nsec / 1000;
    return status;
}
extern "C" time_t time(time_t *now) {
    struct timespec fine;
    clock_gettime(CLOCK_REALTIME, &fine);
    if (now) *now = fine.tv_sec;
    return fine.tv_sec;
}
"""
"""Library that steps the wall clock by the seconds in a file, and keeps the monotonic clock."""


@LARGE
def test_steps_of_the_wall_clock_cut_no_answer(tmp_path: Path, model_path: Path) -> None:
    (tmp_path / "clock.cpp").write_text(CLOCK)
    library, step = tmp_path / "clock.so", tmp_path / "step"
    subprocess.run(["c++", "-shared", "-fPIC", tmp_path / "clock.cpp", "-o", library], check=True)
    environment = {"LD_PRELOAD": str(library), "CLOCK_STEP": str(step)}
    with odd_server(tmp_path, environment=environment, flags=["--chat-titles", "first-words"]) as url:
        for seconds in (0, 7_200, -93_600, 34_560_000):
            chat = fetched(f"{url}/api/conversations", {})["id"]
            params = {"max_tokens": 60, "ignore_eos": True}
            body = json.dumps({"content": "Count to ten.", "params": params}).encode()
            request = urllib.request.Request(
                f"{url}/api/conversations/{chat}/messages", body, {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(request, timeout=60) as stream:
                first = stream.readline()
                step.write_text(str(seconds))
                events = (first + stream.read()).decode()
            assert "event: done" in events
            question, answer = fetched(f"{url}/api/conversations/{chat}")["messages"]
            assert (question["status"], answer["status"]) == ("complete", "incomplete")
        assert len(fetched(f"{url}/api/conversations")["data"]) == 4
        assert fetched(f"{url}/api/conversations", {})["created_at"] > time.time() + 30_000_000


async def test_suspended_machine_continues_its_answer(tmp_path: Path, size: Size) -> None:
    async with serving(tmp_path) as (server, http):
        _, response = await asked(server, http)
        child = server_pid(server.process.pid)
        assert child is not None
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for pid in (server.process.pid, child):
                os.kill(pid, number)
            if number == signal.SIGSTOP:
                # The length of the suspension.
                await asyncio.sleep(size.pick(small=0.3, full=60.0))
        server.order("allow 100")
        assert (await all_events(response))[-1].data["message"]["content"] == WHOLE_ANSWER
