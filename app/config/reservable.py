"""Bytes of the disk tier that operators can reserve for promises."""

from app.config.secret import existing_secret
from app.config.settings import Settings
from cache_tiers.disk.inspection import DiskInspection
from cache_tiers.disk.tier import why_unsuitable
from cache_tiers.lower.inspection import InspectionError
from engine.api.errors import EbbError


def reservable_bytes(settings: Settings) -> int:
    """Return the bound of the disk tier; 0 if it is off. The call may read the folder. Raise EbbError."""
    secret = existing_secret(settings.secret_file) or b""
    disk = settings.tier_config(secret).disk
    if settings.no_prefix_cache or disk is None or disk.max_bytes == 0 or why_unsuitable(disk) is not None:
        return 0
    try:
        return DiskInspection(disk, secret).bound()
    except InspectionError as error:
        raise EbbError(str(error)) from error
