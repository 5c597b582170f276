"""The disk as a tier below CPU memory: identity, settings and opening."""

import logging
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from cache_tiers.config import DiskConfig, TierConfig
from cache_tiers.disk.backend import DESCRIPTION, DISK, HANG_SECONDS, DiskBackend
from cache_tiers.disk.hanging_call import result_within
from cache_tiers.disk.inspection import DiskInspection
from cache_tiers.disk.mount import IN_MEMORY, REMOTE, file_system_of
from cache_tiers.lower.backend import TierFaultError
from cache_tiers.lower.inspection import InspectionError, TierInspection
from cache_tiers.lower.tier import FoundTier, Progress, SharedTier

logger = logging.getLogger(__name__)


class DiskKind:
    """The disk tier: a folder of this machine, on by default."""

    tier = DISK
    description = DESCRIPTION
    size_setting = "disk-kv-size"

    def is_off(self, config: TierConfig) -> bool:
        """See LowerTierKind."""
        return config.disk is None or config.disk.max_bytes == 0

    def keeps_blocks(self, config: TierConfig) -> bool:
        """See LowerTierKind."""
        if config.disk is None:
            return False
        try:
            return result_within(HANG_SECONDS, config.disk.folder.exists)
        except TimeoutError:
            return True

    def find(self, config: TierConfig, _progress: Progress, closing: ExitStack) -> FoundTier:
        """See LowerTierKind."""
        disk = config.disk
        if disk is None or disk.max_bytes == 0:
            return FoundTier.off("--disk-kv-size 0")
        backend = DiskBackend(disk.folder, disk.max_bytes, check=partial(_check_suitable, disk))
        closing.callback(backend.close)
        try:
            result_within(HANG_SECONDS, backend.open)
        except TimeoutError:
            logger.warning("%s does not answer; the disk tier begins once it does", disk.folder)
        except UnsuitableError as error:
            return _off_with_warning(str(error)) if error.is_mistake else FoundTier.off(str(error))
        except OSError as error:
            return _off_with_warning(f"{disk.folder} cannot be used: {error.strerror}")
        return FoundTier(backend, str(disk.folder))

    def share(self, config: TierConfig, _progress: Progress, _closing: ExitStack) -> SharedTier:
        """See LowerTierKind. The engines share the folder, and one of them evicts."""
        return SharedTier(config)

    def inspect(self, config: TierConfig, secret: bytes) -> TierInspection | None:
        """See LowerTierKind. Blocks of a tier that was turned off do not age out, so they are inspected too."""
        disk = config.disk
        if disk is None or (self.is_off(config) and not disk.folder.exists()):
            return None
        if (unsuitable := why_unsuitable(disk)) and not disk.folder.exists():
            raise InspectionError(f"off: {unsuitable.reason}")
        return DiskInspection(disk, secret)


@dataclass(frozen=True, slots=True)
class Unsuitable:
    """Reason, as a sentence, why a folder does not suit blocks. is_mistake: whether an operator should change it."""

    reason: str
    is_mistake: bool


def why_unsuitable(disk: DiskConfig) -> Unsuitable | None:
    """Return why the file system of a folder does not suit blocks; None if it does."""
    kind = file_system_of(disk.folder)
    if kind in REMOTE:
        reason = (
            f"{disk.folder} is on a network file system ({kind}), whose locks and delays do not suit KV blocks; "
            "name a folder on a local disk with --disk-kv-dir"
        )
        return Unsuitable(reason, is_mistake=True)
    if kind in IN_MEMORY and disk.max_bytes is None:
        reason = f"{disk.folder} is in memory ({kind}); name a folder on a disk with --disk-kv-dir"
        return Unsuitable(reason, is_mistake=False)
    return None


class UnsuitableError(TierFaultError):
    """The file system of a folder does not suit blocks. is_mistake: see Unsuitable."""

    def __init__(self, unsuitable: Unsuitable) -> None:
        super().__init__(unsuitable.reason)
        self.is_mistake = unsuitable.is_mistake


def _check_suitable(disk: DiskConfig) -> None:
    """Raise UnsuitableError if the file system of a folder does not suit blocks."""
    if (unsuitable := why_unsuitable(disk)) is not None:
        raise UnsuitableError(unsuitable)


def _off_with_warning(why: str) -> FoundTier:
    logger.warning("the disk tier is off: %s", why)
    return FoundTier.off(why)
