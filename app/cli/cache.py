"""`ebb cache`: inspect, verify and delete the KV blocks in Redis."""

import sys

import redis

from app.config.secret import load_secret
from app.config.settings import Settings
from app.config.sizes import format_size
from cache_tiers.redis.address import RedisAddress, parse_redis_url
from cache_tiers.redis.companion_folder import companion_folder, socket_path
from cache_tiers.redis.inspection import clear, connect, stat, verify
from engine.api.errors import EbbError


class CacheUnreachableError(EbbError):
    """No Redis can be reached."""

    code = "cache_unreachable"


def cache(settings: Settings, action: str) -> int:
    """Run `action` and print the result. Returns 1 if a block is damaged. Raise CacheUnreachableError."""
    address = _address(settings)
    try:
        with connect(address) as client:
            return {"stat": _stat, "clear": _clear, "verify": _verify}[action](client, settings, address)
    except redis.RedisError as error:
        raise CacheUnreachableError(_advice(settings, address, error)) from error


def _address(settings: Settings) -> RedisAddress:
    if settings.redis_url == "off":
        raise CacheUnreachableError("Redis is off (--redis-url off): there is nothing to inspect")
    if settings.redis_url == "auto":
        return RedisAddress(unix_path=socket_path(companion_folder(settings.state_dir)))
    return parse_redis_url(settings.redis_url)


def _advice(settings: Settings, address: RedisAddress, error: redis.RedisError) -> str:
    if settings.redis_url == "auto":
        return (
            f"no Redis answers at {address}: the companion Redis runs only while the server runs. Start "
            "`ebb serve` with the same --state-dir, or set --redis-url"
        )
    return f"no Redis answers at {address}: {error}"


def _stat(client: redis.Redis, _settings: Settings, address: RedisAddress) -> int:
    found = stat(client)
    limit = f" of {format_size(found.limit_bytes)}" if found.limit_bytes else ""
    print(f"{address}: {format_size(found.used_bytes)}{limit} used, {found.evicted_keys} keys evicted so far")
    print(f"{found.by_model.total()} KV blocks, {format_size(found.bytes_by_model.total())}")
    for model, count in found.by_model.most_common():
        print(f"  {count} of model and kernels {model}, {format_size(found.bytes_by_model[model])}")
    return 0


def _clear(client: redis.Redis, _settings: Settings, address: RedisAddress) -> int:
    print(f"deleted {clear(client)} KV blocks from {address}; chats are stored elsewhere and are not affected")
    return 0


def _verify(client: redis.Redis, settings: Settings, address: RedisAddress) -> int:
    verdict = verify(
        client,
        load_secret(settings.secret_file),
        lambda count: print(f"\rread {count} blocks", end="", file=sys.stderr, flush=True),
    )
    print(file=sys.stderr)
    bad = sum(verdict.rejects.values())
    print(
        f"{verdict.num_whole} blocks in {address} are intact, {bad} are not; {verdict.gone} disappeared during "
        "the check"
    )
    for reject, count in verdict.rejects.most_common():
        print(f"  {count}: {reject.value}")
    if bad:
        print("The server never uses such a block: it recomputes the block's KV. `ebb cache clear` deletes all blocks.")
    return 1 if bad else 0
