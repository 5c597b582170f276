"""Folder for installations and builds: commands run one after another, at low priority, each once."""

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

_NICE = ("nice", "-n", "15")
_REPORT_SECONDS = 10.0
_POLL_SECONDS = 0.2


class PreparationError(Exception):
    """A failed command of an installation, with the end of its output."""


class Workshop:
    """Owner of `folder`. A completed step leaves a stamp, so that the next run skips the step."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def is_done(self, stamp: str) -> bool:
        """Return whether an earlier run marked the step as done."""
        return (self.folder / f".{stamp}").exists()

    def mark_done(self, stamp: str) -> None:
        """Mark the step as done."""
        (self.folder / f".{stamp}").touch()

    def say(self, text: str) -> None:
        """Print a line of progress."""
        print(f"==> {self.folder.name}: {text}", file=sys.stderr, flush=True)

    def run(self, what: str, command: Sequence[str]) -> None:
        """Run `command` in the folder, and print its last line of output now and then.

        Raise PreparationError.
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
        """Create a virtual environment in the folder and return its interpreter. Raise PreparationError."""
        python = self.folder / "venv" / "bin" / "python"
        if not self.is_done("venv"):
            self.run("making a virtual environment", [sys.executable, "-m", "venv", "--clear", "venv"])
            self.mark_done("venv")
        return python

    def site_packages(self, python: Path) -> Path:
        """Return the folder of the packages installed for `python`."""
        ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
        return Path(subprocess.run([str(python), "-c", ask], capture_output=True, text=True, check=True).stdout.strip())


def _last_line(log: Path) -> str:
    lines = log.read_bytes()[-2_000:].decode(errors="replace").splitlines()
    return lines[-1].strip()[:100] if lines else ""
