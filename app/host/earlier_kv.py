"""The line in the log about KV blocks that this server cannot use, as after an upgrade."""

import asyncio
import logging
from collections import Counter
from contextlib import suppress

from app.config.sizes import format_size
from app.host.engine_host import EngineHost
from cache_tiers.config import TierConfig
from cache_tiers.lower.inspection import InspectionError, StoredBlocks
from cache_tiers.lower.tier import LowerTierKind
from cache_tiers.registry import LOWER_TIERS
from cache_tiers.tier import Tier

logger = logging.getLogger(__name__)


async def log_earlier_kv(tiers: TierConfig, secret: bytes, host: EngineHost) -> None:
    """Wait for the engine, and log one line per tier that holds KV blocks of another fingerprint.

    Other servers may use the blocks of a tier that is not this secret's alone, so those are not counted.
    """
    engine = await host.until_ready()
    for kind in LOWER_TIERS:
        found = await asyncio.to_thread(_private_blocks, kind, tiers, secret)
        sentence = found and _earlier_kv(kind.tier, found, engine.kv_fingerprint)
        if sentence:
            logger.info("%s", sentence)


def _private_blocks(kind: LowerTierKind, tiers: TierConfig, secret: bytes) -> StoredBlocks | None:
    # The state of the tier says why it cannot be reached.
    with suppress(InspectionError):
        inspection = kind.inspect(tiers, secret)
        if inspection is not None and inspection.is_private:
            return inspection.stat()
    return None


def _earlier_kv(tier: Tier, found: StoredBlocks, kv_fingerprint: str) -> str:
    """Describe the KV blocks in a tier that have another fingerprint; empty if there are none."""
    count, nbytes = _others(found.by_model, kv_fingerprint), _others(found.bytes_by_model, kv_fingerprint)
    if not count:
        return ""
    return (
        f"{count} KV blocks ({format_size(nbytes)}) of {tier.name} come from another version of Ebb, another model or "
        "another way to compute. This server does not use them, and they stay until they age out. `ebb cache clear` "
        "frees the room at once: it deletes all KV blocks"
    )


def _others(by_model: Counter[str], kv_fingerprint: str) -> int:
    return sum(number for model, number in by_model.items() if not kv_fingerprint.startswith(model))
