"""The parts of LMCache that it does not promise to keep. No other module uses private names of LMCache.

`tests/contract/test_lmcache_parts.py` names each of them, and fails if another version lacks one.
"""

# mypy: disable-error-code="import-untyped"

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lmcache.v1.distributed.api import ObjectKey
    from lmcache.v1.distributed.config import StorageManagerConfig
    from lmcache.v1.distributed.l1_manager import L1Manager
    from lmcache.v1.distributed.storage_manager import StorageManager


def open_manager(l1: "L1Manager", wanted: "StorageManagerConfig") -> "StorageManager":
    """Open a storage manager over an L1 that is open already, without LMCache's own eviction.

    LMCache's loops of eviction would wake every second for nothing and delay the shutdown by as long, and only this
    process's policies evict from host memory. LMCache offers no other switch.
    """
    # `lmcache_adapter` must be imported before anything of LMCache.
    from lmcache.v1.distributed.storage_manager import StorageManager

    manager = StorageManager(wanted, _l1_managers=(l1,))
    for controller in (*manager._eviction_controllers, manager._l2_eviction_controller):
        controller._stop_flag.set()
    return manager


def names_in(l1: "L1Manager") -> list["ObjectKey"]:
    """Return the names of the blocks in L1, without its lock."""
    return list(l1._objects)


def is_writing(manager: "StorageManager") -> bool:
    """Return whether writes to the lower tiers are queued or in flight. The manager's own report visits all blocks."""
    reports = [each.report_status() for each in manager._store_controllers.values()]
    return any(each["in_flight_task_count"] or each["pending_keys_count"] for each in reports)
