"""Sentences about the memory that a server will take, for its log at the start."""

from engine.kv.budget import USUAL_CHAT, KVBudget

_MIB = 1 << 20


def memory_line(
    budget: KVBudget, redis: int, sealing: int, *, weights: int, free: int, host_free: int | None = None
) -> str:
    """Return how memory is divided.

    weights: bytes of the model's weights.
    redis: most bytes of the companion Redis; 0 without one.
    sealing: most bytes in which blocks are sealed on their way to Redis and the disk.
    free: free bytes where the pool will be, after the weights were loaded.
    host_free: free bytes on the host if the pool is on a device with its own memory, else None.
    """
    pool = f"weights {_mib(weights)}, device pool {_mib(budget.pool)}"
    below = f"CPU tier {_mib(budget.cpu_tier)}, Redis up to {_mib(redis)}, sealing {_mib(sealing)}"
    if host_free is None:
        return f"memory: {pool}, {below}, of {_mib(free)} that the weights leave free"
    return f"memory: {pool} of {_mib(free)} that the weights leave free on the device; {below} of {_mib(host_free)}"


def shortage(budget: KVBudget, redis: int, sealing: int, *, free: int, host_free: int | None = None) -> str:
    """Return which sizes do not fit in free memory, and the settings to lower; empty if all fit.

    The arguments are those of `memory_line`.
    """
    on_host = budget.cpu_tier + redis + sealing
    if host_free is None:
        return _exceeded(budget.pool + on_host, free, "kv-memory", "cpu-kv-memory", "redis-memory")
    return _exceeded(budget.pool, free, "kv-memory") or _exceeded(on_host, host_free, "cpu-kv-memory", "redis-memory")


def too_few_tokens(num_tokens: int, window: int, block_nbytes: int, block_size: int) -> str:
    """Return a warning for a pool that holds fewer tokens than a usual chat has; empty for a larger one.

    window: tokens of prompt and answer together that the model allows.
    """
    if num_tokens >= min(window, USUAL_CHAT):
        return ""
    return (
        f"the KV memory holds {num_tokens} tokens, so longer chats are refused. Free some memory, or set "
        f"--kv-memory to {_size_for(window, block_nbytes, block_size)} for the model's whole window of {window} tokens."
    )


def too_small(pool: int, window: int, block_nbytes: int, block_size: int) -> str:
    """Return an error for a pool of `pool` bytes, which holds no block."""
    usual = min(window, USUAL_CHAT)
    return (
        f"{_mib(pool)} of KV memory cannot hold one block of {block_nbytes / _MIB:.1f} MiB ({block_size} tokens). Free "
        f"some memory, or set --kv-memory to at least {_size_for(usual, block_nbytes, block_size)} for {usual} tokens."
    )


def _size_for(num_tokens: int, block_nbytes: int, block_size: int) -> str:
    nbytes = -(-num_tokens // block_size) * block_nbytes
    return f"{-(-nbytes // _MIB)}MiB"


def _exceeded(needed: int, free: int, *settings: str) -> str:
    if needed <= free:
        return ""
    flags = " or ".join(f"--{name}" for name in settings)
    return f"the sizes set for the KV memory add up to {_mib(needed)}, but {_mib(free)} are free: lower {flags}"


def _mib(nbytes: int) -> str:
    return f"{nbytes // _MIB:,} MiB"
