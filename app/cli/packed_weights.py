"""`ebb cache` on the packed weights in the cache directory."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final

from app.config.sizes import format_size
from engine.cpu.pack_file import MappedPack, PackError, read_header
from engine.cpu.pack_folder import PackFolder


def _stat(folder: PackFolder) -> int:
    packs = folder.packs()
    used = sum(pack.nbytes for pack in packs)
    print(f"packed weights, {folder.path}: {format_size(used)} of {format_size(folder.bound(used))} used")
    for pack in reversed(packs):
        day = datetime.fromtimestamp(pack.used, UTC).date()
        print(f"  {pack.label or pack.path.name}: {format_size(pack.nbytes)}, last mapped on {day}")
    return 0


def _clear(folder: PackFolder) -> int:
    print(f"packed weights: deleted {folder.clear()} files from {folder.path}; the next start packs again")
    return 0


def _verify(folder: PackFolder) -> int:
    damaged = []
    packs = folder.packs()
    for pack in packs:
        try:
            MappedPack(pack.path, read_header(pack.path).identity)
        except PackError as error:
            damaged.append(f"  {pack.path}: {error}")
    print(f"packed weights: {len(packs) - len(damaged)} files in {folder.path} are intact, {len(damaged)} are not")
    for line in damaged:
        print(line)
    return 1 if damaged else 0


PACK_ACTIONS: Final[Mapping[str, Callable[[PackFolder], int]]] = MappingProxyType(
    {"stat": _stat, "clear": _clear, "verify": _verify}
)
"""What each action of `ebb cache` does with a folder that has packs. Returns 1 if one is damaged. Raises OSError."""
