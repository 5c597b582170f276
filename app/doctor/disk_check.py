"""Check of the disk tier: where its blocks are, how many fit, and how they are read."""

import os
from pathlib import Path

from app.config.reservable import READ_SECONDS
from app.config.secret import existing_secret
from app.config.settings import Settings
from app.config.sizes import format_size
from app.doctor.finding import Finding
from app.doctor.memory_plan import kv_bytes
from app.doctor.network_check import network_of
from cache_tiers.config import DiskConfig
from cache_tiers.disk.folder import folder_of
from cache_tiers.disk.hanging_call import result_within
from cache_tiers.disk.inspection import DiskInspection
from cache_tiers.disk.space import existing_part, space_of
from cache_tiers.disk.tier import why_unsuitable
from cache_tiers.disk.value_file import allows_direct, file_bytes
from cache_tiers.lower.inspection import InspectionError, StoredBlocks
from engine.api.errors import EbbError
from engine.device.choice import block_size_for, choose_device
from models.download.resolve import find_model
from models.errors import ModelError

_LOST = "KV does not survive a restart"


def check_disk(settings: Settings) -> Finding:
    """Check the folder of the disk tier, and count the blocks there."""
    if settings.no_prefix_cache:
        return Finding("ok", "disk", "off: --no-prefix-cache")
    if settings.disk_kv_size == 0:
        return Finding("warn", "disk", f"off: {_LOST}", "leave out --disk-kv-size to turn it on")
    parent = settings.disk_kv_parent
    try:
        return result_within(READ_SECONDS, lambda: _checked(settings, parent))
    except TimeoutError:
        text = f"{parent} does not answer within {READ_SECONDS:g} s. {_LOST} until it does"
        return Finding("warn", "disk", text, "look at the disk, or choose another folder with --disk-kv-dir")


def _checked(settings: Settings, parent: Path) -> Finding:
    """Check the folder `parent`, which may hang."""
    unsuitable = why_unsuitable(DiskConfig(parent, settings.disk_kv_size))
    if unsuitable is not None:
        reason, _, advice = unsuitable.reason.partition("; ")
        return Finding("warn", "disk", f"off: {reason}. {_LOST}", advice)
    try:
        secret = existing_secret(settings.secret_file) or b""
        disk = DiskConfig(folder_of(parent, secret) if secret else parent, settings.disk_kv_size)
        return _described(settings, disk, DiskInspection(disk, secret).stat())
    except (InspectionError, EbbError) as error:
        return Finding("warn", "disk", f"off: {error}. {_LOST}", "change its permissions, or choose --disk-kv-dir")
    except OSError as error:
        text = f"off: {parent} cannot be used: {error.strerror}. {_LOST}"
        return Finding("warn", "disk", text, "change its permissions, or choose --disk-kv-dir")


def _described(settings: Settings, disk: DiskConfig, found: StoredBlocks) -> Finding:
    """Describe the tier. Raise OSError if the folder cannot be written."""
    place = existing_part(disk.folder)
    if not os.access(place, os.W_OK | os.X_OK):
        raise PermissionError(0, "no permission to write")
    parts = [
        f"{disk.folder}, {format_size(found.used_bytes)} of {format_size(found.limit_bytes)} used",
        *_tokens(settings, found.limit_bytes),
        *([f"{format_size(found.promised_bytes)} are promised"] if found.promised_bytes else []),
        "direct I/O" if allows_direct(str(place)) else "through the page cache, since it has no direct I/O",
    ]
    space = space_of(place)
    if space.free < space.kept_free:
        advice = "free some space, or name a folder on another disk with --disk-kv-dir"
        text = f"{parts[0]}; only {format_size(space.free)} are free, and {format_size(space.kept_free)} stay free"
        return Finding("warn", "disk", f"{text}, so nothing is written", advice)
    return Finding("ok", "disk", ", ".join(parts))


def _tokens(settings: Settings, nbytes: int) -> list[str]:
    """Return the number of tokens of the model that `nbytes` hold, as text; nothing if the model is not known."""
    folder = find_model(settings.model, settings.cache_dir)
    if folder is None:
        return []
    try:
        return [f"room for {nbytes // block_file_bytes(settings, folder) * _block_size(settings)} tokens"]
    except (ModelError, EbbError):
        # Other checks report the fault of the model.
        return []


def block_file_bytes(settings: Settings, model_folder: Path) -> int:
    """Return the bytes that a block of the model takes on the disk. Raise ModelError."""
    return file_bytes(kv_bytes(settings, network_of(settings, model_folder), _block_size(settings)))


def _block_size(settings: Settings) -> int:
    return block_size_for(choose_device(settings.device))
