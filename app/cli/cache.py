"""`ebb cache`: inspect, verify and delete KV blocks below CPU memory and packed weights, and plan the tiers' sizes."""

import sys
from collections.abc import Callable, Mapping
from typing import Final

from app.cli.cache_plan import cache_plan
from app.cli.packed_weights import PACK_ACTIONS
from app.config.secret import existing_secret
from app.config.settings import Settings
from app.config.sizes import format_size
from cache_tiers.lower.inspection import InspectionError, TierInspection
from cache_tiers.registry import LOWER_TIERS
from cache_tiers.tier import Tier
from engine.api.errors import EbbError
from engine.cpu.pack_folder import PackFolder


class CacheUnreachableError(EbbError):
    """No tier can be reached."""

    code = "cache_unreachable"


def cache(settings: Settings, action: str, api_key: str | None = None) -> int:
    """Print the plan of the running server, or run `action` on all tiers and packed weights. Returns the exit status.

    Raise CacheUnreachableError if no tier can be reached, SecretError.
    """
    return cache_plan(settings, api_key) if action == "plan" else _inspect(settings, action)


def _inspect(settings: Settings, action: str) -> int:
    """Run `action` on each tier and on the packed weights, and print the results. Returns 1 if any is damaged."""
    secret = existing_secret(settings.secret_file)
    if secret is None:
        print(
            f"there is no secret file {settings.secret_file}: blocks that it would seal are not found", file=sys.stderr
        )
    tiers = settings.tier_config(secret)
    verdicts, faults = [], []
    for kind in LOWER_TIERS:
        try:
            inspection = kind.inspect(tiers, secret or b"")
            if inspection is not None:
                verdicts.append(_ACTIONS[action](kind.tier, inspection))
        except InspectionError as error:
            faults.append(f"{kind.tier.name}: {error}")
    packs = PackFolder(settings.cache_dir, settings.packed_size)
    try:
        if packs.packs():
            verdicts.append(PACK_ACTIONS[action](packs))
    except OSError as error:
        faults.append(f"{packs.path}: {error.strerror}")
    if not verdicts:
        names = ", ".join(kind.tier.name for kind in LOWER_TIERS)
        raise CacheUnreachableError("; ".join(faults) or f"every tier is off ({names}): there is nothing to inspect")
    for fault in faults:
        print(fault, file=sys.stderr)
    return max(verdicts)


def _stat(tier: Tier, inspection: TierInspection) -> int:
    found = inspection.stat()
    limit = f" of {format_size(found.limit_bytes)}" if found.limit_bytes else ""
    evicted = f", {found.evicted} keys evicted so far" if found.evicted is not None else ""
    print(f"{tier.name}, {inspection.place}: {format_size(found.used_bytes)}{limit} used{evicted}")
    promised = f", {format_size(found.promised_bytes)} of them promised" if found.promised_bytes else ""
    print(f"{found.by_model.total()} KV blocks, {format_size(found.bytes_by_model.total())}{promised}")
    for model, count in found.by_model.most_common():
        print(f"  {count} of model and kernels {model}, {format_size(found.bytes_by_model[model])}")
    return 0


def _clear(tier: Tier, inspection: TierInspection) -> int:
    count = inspection.clear()
    print(f"{tier.name}: deleted {count} KV blocks from {inspection.place}; chats are not affected")
    return 0


def _verify(tier: Tier, inspection: TierInspection) -> int:
    verdict = inspection.verify(
        lambda count: print(f"\r{tier.name}: read {count} blocks", end="", file=sys.stderr, flush=True)
    )
    print(file=sys.stderr)
    bad = sum(verdict.rejects.values())
    print(
        f"{tier.name}: {verdict.num_whole} blocks in {inspection.place} are intact, {bad} are not; {verdict.gone} "
        "disappeared during the check"
    )
    for reject, count in verdict.rejects.most_common():
        print(f"  {count}: {reject.value}")
    if bad:
        print("The server never uses such a block: it recomputes the block's KV. `ebb cache clear` deletes all blocks.")
    return 1 if bad else 0


_ACTIONS: Final[Mapping[str, Callable[[Tier, TierInspection], int]]] = {
    "stat": _stat,
    "clear": _clear,
    "verify": _verify,
}
