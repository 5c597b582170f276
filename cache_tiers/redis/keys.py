"""The names of values in Redis."""

from typing import Final

KEY_PREFIX: Final = b"ebb:kv:"


def redis_key(key: bytes) -> bytes:
    """Return the Redis key of a value."""
    return KEY_PREFIX + key.hex().encode()
