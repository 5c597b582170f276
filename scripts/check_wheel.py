"""Builds the wheel from this tree and serves the page from it, with an empty PATH.

`python scripts/check_wheel.py FOLDER` leaves the wheel in FOLDER.
"""

import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
START_SECONDS = 60.0
SERVE = """
import sys, uvicorn
from starlette.applications import Starlette
from app.routes.pages import STATIC, file_routes, page_operations
from app.routes.routing import route_of
assert STATIC.is_relative_to(sys.argv[1]), f"{STATIC} is not in the wheel"
routes = [*map(route_of, page_operations()), *file_routes()]
uvicorn.run(Starlette(routes=routes), port=int(sys.argv[2]), log_level="warning")
"""
LINKED = re.compile(r'(?:src|href)="(/[^"]+)"')


def build(folder: Path) -> Path:
    """Build the wheel, without its dependencies, in `folder`."""
    with tempfile.TemporaryDirectory() as fresh:
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps")
        subprocess.run([*pip, "--wheel-dir", fresh, str(ROOT)], check=True)
        (wheel,) = Path(fresh).glob("*.whl")
        folder.mkdir(parents=True, exist_ok=True)
        return wheel.rename(folder / wheel.name)


def read(url: str) -> str:
    """Read the text at `url`. Raise OSError."""
    with urllib.request.urlopen(url, timeout=5) as response:
        body: bytes = response.read()
    return body.decode("utf-8", errors="replace")


def read_when_up(url: str, server: "subprocess.Popen[bytes]") -> str:
    """Read the text at `url` from a server that is still starting."""
    deadline = time.monotonic() + START_SECONDS
    while server.poll() is None and time.monotonic() < deadline:
        try:
            return read(url)
        except urllib.error.URLError:
            time.sleep(0.05)
    raise SystemExit("The server of the wheel's page did not start; its error is above.")


def check(wheel: Path) -> int:
    """Serve the page from the unpacked wheel, read all files that it links, and return their number."""
    with tempfile.TemporaryDirectory() as unpacked, socket.socket() as probe:
        zipfile.ZipFile(wheel).extractall(unpacked)
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        environment = {**os.environ, "PATH": "", "PYTHONPATH": unpacked}
        command = [sys.executable, "-c", SERVE, unpacked, str(port)]
        server = subprocess.Popen(command, env=environment, cwd=unpacked)
        try:
            page = read_when_up(f"http://127.0.0.1:{port}/", server)
            files = LINKED.findall(page)
            if not any(file.endswith(".js") for file in files):
                raise SystemExit(f"{wheel.name} does not contain the built page. Run make setup first.")
            for file in files:
                read(f"http://127.0.0.1:{port}{file}")
        finally:
            server.terminate()
            server.wait()
    return len(files)


def main(folder: Path) -> None:
    """Build the wheel, check it and print the result."""
    wheel = build(folder)
    files = check(wheel)
    megabytes = wheel.stat().st_size / 1e6
    print(f"{wheel}: {megabytes:.1f} MB; the page and its first {files} files are served without Node")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
