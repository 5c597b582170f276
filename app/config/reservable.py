"""Bytes of the disk tier that operators can reserve for promises."""

from typing import Final

from app.config.secret import existing_secret
from app.config.settings import Settings
from cache_tiers.config import DiskConfig
from cache_tiers.disk.hanging_call import result_within
from cache_tiers.disk.inspection import DiskInspection
from cache_tiers.disk.tier import why_unsuitable
from cache_tiers.lower.inspection import InspectionError
from engine.api.errors import EbbError

READ_SECONDS: Final = 20.0
"""Seconds after which a disk counts as hanging while its folder is read."""


def reservable_bytes(settings: Settings) -> int:
    """Return the bound of the disk tier; 0 if it is off. The call may read the folder.

    Raise EbbError: the folder cannot be read, or the disk does not answer.
    """
    secret = existing_secret(settings.secret_file) or b""
    disk = settings.tier_config(secret).disk
    if settings.no_prefix_cache or disk is None or disk.max_bytes == 0:
        return 0
    try:
        return result_within(READ_SECONDS, lambda: _bound(disk, secret))
    except InspectionError as error:
        raise EbbError(str(error)) from error
    except TimeoutError as error:
        raise EbbError(f"{disk.folder} does not answer. Reserve bytes for promises once its disk does.") from error


def _bound(disk: DiskConfig, secret: bytes) -> int:
    return 0 if why_unsuitable(disk) is not None else DiskInspection(disk, secret).bound()
