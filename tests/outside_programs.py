"""Programs of the system that tests start: where they are, and whether they serve."""

import shutil
import socket
from contextlib import suppress
from typing import Final

PLACES: Final = "/usr/sbin:/usr/bin:/usr/libexec:/usr/local/sbin:/usr/local/bin:/sbin"


def program(name: str, package: str) -> str:
    """Return the path of a program, which is not on the PATH of every user.

    package: what installs it on Debian and Ubuntu.
    """
    found = shutil.which(name, path=PLACES)
    assert found is not None, f"{name} is missing: install {package} (Debian, Ubuntu: sudo apt-get install {package})"
    return found


def listens(port: int) -> bool:
    """Return whether a program of this machine accepts connections at a port."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False
