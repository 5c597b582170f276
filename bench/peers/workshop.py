"""A folder that things are installed and built in: commands run one after another, at low priority, each once."""

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

_NICE = ("nice", "-n", "15")
_REPORT_SECONDS = 10.0
_POLL_SECONDS = 0.2


class PreparationError(Exception):
    """A command of an installation failed. Carries the end of its output."""


class Workshop:
    """Owns `folder`. A step that was done leaves a stamp, so that the next run passes over it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def is_done(self, stamp: str) -> bool:
        """Whether an earlier run came to `mark_done`."""
        return (self.folder / f".{stamp}").exists()

    def mark_done(self, stamp: str) -> None:
        """What the stamp stands for is whole."""
        (self.folder / f".{stamp}").touch()

    def say(self, text: str) -> None:
        """One line of progress."""
        print(f"==> {self.folder.name}: {text}", file=sys.stderr, flush=True)

    def run(self, what: str, command: Sequence[str]) -> None:
        """Run `command` in the folder and wait; now and then its last line of output is shown.

        Raises PreparationError.
        """
        self.say(what)
        log = self.folder / "install.log"
        began = reported = time.monotonic()
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*_NICE, *command],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            try:
                while process.poll() is None:
                    time.sleep(_POLL_SECONDS)
                    if time.monotonic() - reported > _REPORT_SECONDS:
                        reported = time.monotonic()
                        self.say(f"  {reported - began:.0f} s: {_last_line(log)}")
            finally:
                process.terminate()
                process.wait()
        if process.returncode != 0:
            tail = "\n".join(log.read_text(errors="replace").splitlines()[-30:])
            raise PreparationError(f"{self.folder.name}: {what} failed:\n{tail}")

    def make_venv(self) -> Path:
        """A virtual environment in the folder; returns its interpreter. Raises PreparationError."""
        python = self.folder / "venv" / "bin" / "python"
        if not self.is_done("venv"):
            self.run("making a virtual environment", [sys.executable, "-m", "venv", "--clear", "venv"])
            self.mark_done("venv")
        return python

    def site_packages(self, python: Path) -> Path:
        """Where the virtual environment of `python` keeps what is installed."""
        ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
        return Path(subprocess.run([str(python), "-c", ask], capture_output=True, text=True, check=True).stdout.strip())


def _last_line(log: Path) -> str:
    lines = log.read_bytes()[-2_000:].decode(errors="replace").splitlines()
    return lines[-1].strip()[:100] if lines else ""
