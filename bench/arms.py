"""Server configurations that the benchmark compares, as flags of `ebb serve`."""

from bench.plan import BLOCK_TOKENS, Plan
from bench.server import ServerSettings

NO_REUSE = "no reuse"
CPU = "device + CPU"
ALL = "device + CPU + Redis + disk"
DEVICE = "device"

_CPU_TIER_TOKENS = 24_576
_LOWER_TIER_TOKENS = 65_536


def no_reuse(plan: Plan, device_tokens: int) -> ServerSettings:
    """Configure a server that recomputes every prompt."""
    return ServerSettings(NO_REUSE, ("--no-prefix-cache", *_tiers_off(), *_common(plan, device_tokens)))


def device_only(plan: Plan, device_tokens: int) -> ServerSettings:
    """Configure a prefix cache on the device, with no tier below."""
    return ServerSettings(DEVICE, (*_tiers_off(), *_common(plan, device_tokens)))


def with_cpu(plan: Plan, device_tokens: int) -> ServerSettings:
    """Configure the device and a CPU tier that holds every chat."""
    flags = ("--redis-url", "off", "--disk-kv-size", "0", "--cpu-kv-memory", _cpu_tier(plan))
    return ServerSettings(CPU, (*flags, *_common(plan, device_tokens)))


def with_all(plan: Plan, device_tokens: int) -> ServerSettings:
    """Configure all tiers. Redis is the server's own companion."""
    below = str(plan.kv_bytes(_LOWER_TIER_TOKENS))
    lower = ("--redis-url", "auto", "--redis-memory", below, "--disk-kv-size", below)
    flags = (*lower, "--cpu-kv-memory", _cpu_tier(plan))
    return ServerSettings(ALL, (*flags, *_common(plan, device_tokens)))


def _tiers_off() -> tuple[str, ...]:
    return ("--redis-url", "off", "--disk-kv-size", "0", "--cpu-kv-memory", "0")


def _cpu_tier(plan: Plan) -> str:
    return str(plan.kv_bytes(_CPU_TIER_TOKENS))


def _common(plan: Plan, device_tokens: int) -> tuple[str, ...]:
    # The window must fit in the pool: a server may refuse to start with a larger one.
    window = min(4_096, device_tokens // BLOCK_TOKENS * BLOCK_TOKENS)
    pool = str(plan.kv_bytes(device_tokens))
    return ("--dtype", plan.dtype, "--kv-memory", pool, "--max-model-len", str(window))
