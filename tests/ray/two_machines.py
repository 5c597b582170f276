"""From one machine to two: the commands of docs/guides/fleet.md, run as they stand in two network namespaces.

Run as root: python -m tests.ray.two_machines

Both machines have a separate home and network address. Ebb is installed on them already, as step 1 would do it.
Four answers must be the same from two replicas, from one replica with a stage on each machine, and from two replicas
while the cable between the machines is pulled.
"""

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.conftest import default_cache_dir
from tests.waiting import until

GUIDE = Path("docs/guides/fleet.md")
QUESTIONS = ("Why are there two tides a day?", "What is a neap tide?", "Who measures tides?", "What does ebb mean?")
ANSWER = {
    "model": "smollm2-135m-instruct",
    "max_tokens": 250,
    "temperature": 0.8,
    "seed": 5,
    "stream": True,
    "ignore_eos": True,
}
START_SECONDS = 240.0


class Machine:
    """A network namespace with the address 10.0.0.NUMBER."""

    def __init__(self, number: int, folder: Path) -> None:
        self.name = f"machine-{number}"
        self.home = folder / self.name
        (self.home / "tmp" / "ray").mkdir(parents=True)
        self._space = f"ebb-{os.getpid()}-{number}"
        self._environment = {
            **{name: text for name, text in os.environ.items() if not name.startswith(("RAY_", "EBB_"))},
            "HOME": str(self.home),
            "RAY_TMPDIR": str(self.home / "tmp"),
            "PYTHONPATH": os.getcwd(),
            "EBB_CACHE_DIR": str(default_cache_dir()),
            "EBB_KV_MEMORY": "128MiB",
            "EBB_CPU_KV_MEMORY": "128MiB",
        }
        system("ip", "netns", "add", self._space)

    def plug(self, link: str, number: int) -> None:
        """Move one end of the cable into the machine, and give it its address."""
        system("ip", "link", "set", link, "netns", self._space)
        self.run(f"ip addr add 10.0.0.{number}/24 dev {link}; ip link set {link} up; ip link set lo up")

    def run(self, text: str) -> str:
        """Run a command of the shell and return its output. Raise CalledProcessError if it fails."""
        done = subprocess.run(
            self._command(text), env=self._environment, stdout=subprocess.PIPE, text=True, timeout=180
        )
        if done.returncode:
            print(done.stdout)
            done.check_returncode()
        return done.stdout

    def start(self, text: str, log: Path | None = None) -> "subprocess.Popen[str]":
        """Start a command of the shell, with its output in `log` or in a pipe."""
        to = log.open("w") if log is not None else subprocess.PIPE
        return subprocess.Popen(self._command(text), env=self._environment, stdout=to, text=True)

    def _command(self, text: str) -> list[str]:
        named = f"hostname {self.name}\n{text}"
        return ["ip", "netns", "exec", self._space, "unshare", "--uts", "bash", "-euc", named]

    def remove(self) -> None:
        """Kill all processes of the machine, and remove it."""
        pids = subprocess.run(["ip", "netns", "pids", self._space], stdout=subprocess.PIPE, text=True).stdout.split()
        if pids:
            subprocess.run(["kill", "-9", *pids])
        system("ip", "netns", "del", self._space)


def system(*command: str) -> None:
    """Run a command of the system."""
    subprocess.run(command, check=True)


def blocks_of(step: int) -> list[str]:
    """Return the shell blocks of a step of the guide."""
    section = GUIDE.read_text().partition("## Several machines")[2].partition("\n## ")[0]
    parts = re.split(r"^\*\*\d\. ", section, flags=re.MULTILINE)
    return re.findall(r"^```sh\n(.*?)^```", parts[step], flags=re.MULTILINE | re.DOTALL)


def health_of(machine: Machine) -> dict[str, Any]:
    """Return the state of the server; empty while it does not answer."""
    text = machine.run("curl --silent --max-time 5 http://127.0.0.1:8000/health || true")
    found: dict[str, Any] = json.loads(text) if text else {}
    return found


class Asked:
    """A question to the server, whose answer is read as it comes."""

    def __init__(self, machine: Machine, question: str) -> None:
        body = json.dumps({**ANSWER, "messages": [{"role": "user", "content": question}]})
        url = "http://127.0.0.1:8000/v1/chat/completions"
        self._process = machine.start(f"curl --silent --no-buffer --json '{body}' {url}")
        assert self._process.stdout is not None
        self._lines = self._process.stdout
        self._text = ""

    def until_begun(self) -> None:
        """Read until the answer has text."""
        while not self._text:
            self._take(next(self._lines))

    def whole(self) -> str:
        """Return the text once the answer has ended."""
        for line in self._lines:
            self._take(line)
        self._process.wait()
        return self._text

    def _take(self, line: str) -> None:
        if line.startswith("data: {"):
            [choice] = json.loads(line.removeprefix("data: "))["choices"] or [{}]
            self._text += choice.get("delta", {}).get("content") or ""


def machines_of(folder: Path, closing: ExitStack) -> tuple[Machine, Machine]:
    """Make two machines with a cable between them."""
    first, second = Machine(1, folder), Machine(2, folder)
    closing.callback(first.remove)
    closing.callback(second.remove)
    system("ip", "link", "add", "ebb-cable-1", "type", "veth", "peer", "name", "ebb-cable-2")
    first.plug("ebb-cable-1", 1)
    second.plug("ebb-cable-2", 2)
    return first, second


def follow_guide(first: Machine, second: Machine) -> str:
    """Do the steps 3 to 5, and return the command that starts the server."""
    [make_token] = blocks_of(3)
    copy = f'scp() {{ install -D -m 600 "$2" "{second.home}/.ray/auth_token"; }}'
    first.run(f"{copy}\n{make_token}")
    head, other = blocks_of(4)
    first.run(head)
    second.run(other)
    [check_and_serve] = blocks_of(6)
    check, serve = check_and_serve.strip().splitlines()
    print(next(line for line in first.run(check).splitlines() if " ray " in line))
    return serve


@contextmanager
def serving(first: Machine, command: str) -> Iterator[None]:
    """Run the server on the first machine while the context is open."""
    log = first.home / "log"
    server = first.start(f"exec {command}", log)
    try:
        until(lambda: server.poll() is not None or health_of(first).get("status") == "ok", timeout=START_SECONDS)
        assert server.poll() is None, log.read_text()
        yield
    finally:
        server.terminate()
        server.wait()


def answers_while(first: Machine, event: Sequence[str] | None) -> list[str]:
    """Return the answers to all questions. Once they have begun, run the command `event` on the first machine."""
    asked = [Asked(first, question) for question in QUESTIONS]
    for each in asked:
        each.until_begun()
    for replica in health_of(first)["replicas"]:
        print(f"  replica {replica['index']} on {replica['machine']} computes {replica['answers']} answers")
    if event is not None:
        first.run(" ".join(event))
    return [each.whole() for each in asked]


def main() -> None:
    """Run the guide, and pull the cable."""
    with ExitStack() as closing:
        folder = Path(closing.enter_context(tempfile.TemporaryDirectory(prefix="ebb2-", ignore_cleanup_errors=True)))
        first, second = machines_of(folder, closing)
        serve = follow_guide(first, second)
        with serving(first, serve):
            expected = answers_while(first, None)
        print("one replica has a stage on each machine")
        with serving(first, f"{serve} --replicas 1 --pipeline-parallel-size 2"):
            assert answers_while(first, None) == expected, "an answer of the stages differs"
        closing.enter_context(serving(first, serve))
        print("the cable is pulled")
        assert answers_while(first, ("ip", "link", "set", "ebb-cable-1", "down")) == expected, "an answer differs"
        lost = [each["last_loss"] for each in health_of(first)["replicas"] if each["last_loss"]]
        assert lost, "no replica was lost"
        print(f"{len(expected)} answers are equal; lost: {lost[0]}")


if __name__ == "__main__":
    main()
