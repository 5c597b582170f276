"""Inspection of a Redis for people. redis-py is fast enough here, since no answer waits for the result.

A large block is stored as several values. Each counts as a block here, because a value does not say how many there are.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from cache_tiers.lower.sealed_value import HEADER_BYTES, BlockSeal, Reject, fingerprint_of
from cache_tiers.redis.address import RedisAddress
from cache_tiers.redis.keys import KEY_PREFIX

_AT_ONCE: Final = 200
_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class StoredBlocks:
    """Memory of the whole server, and its blocks.

    limit_bytes: 0 for no limit.
    evicted_keys: since the server's start.
    by_model: number of blocks, by the first 8 hexadecimal digits of the model's fingerprint.
    bytes_by_model: total size of their values.
    """

    used_bytes: int
    limit_bytes: int
    evicted_keys: int
    by_model: Counter[str]
    bytes_by_model: Counter[str]


@dataclass(slots=True)
class Verdict:
    """The result of reading every block.

    gone: blocks evicted or expired while they were being read.
    """

    num_whole: int = 0
    gone: int = 0
    rejects: Counter[Reject] = field(default_factory=Counter)


def connect(address: RedisAddress) -> redis.Redis:
    """Create a client. The first command raises redis.RedisError if no server answers."""
    if address.unix_path is not None:
        return redis.Redis(
            unix_socket_path=str(address.unix_path),
            username=address.username,
            password=address.password,
            db=address.database,
            socket_timeout=_SECONDS,
            retry=_retry_at_once(),
        )
    tls = address.tls
    return redis.Redis(
        host=address.host,
        port=address.port,
        username=address.username,
        password=address.password,
        db=address.database,
        socket_timeout=_SECONDS,
        retry=_retry_at_once(),
        ssl=tls is not None,
        ssl_ca_certs=tls.ca_file if tls is not None else None,
        ssl_cert_reqs="required" if tls is None or tls.verify else "none",
    )


def _retry_at_once() -> Retry:
    """Return the policy of one immediate reconnection, so that an unreachable server is reported without delay."""
    return Retry(NoBackoff(), 1)


def stat(client: redis.Redis) -> StoredBlocks:
    """Read the header of every block and count the blocks. Raise redis.RedisError."""
    memory, counts = client.info("memory"), client.info("stats")
    by_model, bytes_by_model = Counter[str](), Counter[str]()
    for names in _batches(client):
        pipeline = client.pipeline(transaction=False)
        for name in names:
            pipeline.strlen(name)
            pipeline.getrange(name, 0, HEADER_BYTES - 1)
        replies = pipeline.execute(raise_on_error=False)
        for length, header in zip(replies[::2], replies[1::2], strict=True):
            if isinstance(length, int) and length > 0:
                fingerprint = fingerprint_of(header)
                model = fingerprint.hex()[:8] if fingerprint is not None else "unknown"
                by_model[model] += 1
                bytes_by_model[model] += length
    return StoredBlocks(memory["used_memory"], memory["maxmemory"], counts["evicted_keys"], by_model, bytes_by_model)


def verify(client: redis.Redis, secret: bytes, progress: Callable[[int], None]) -> Verdict:
    """Read and check every block, of any model. `progress` receives the number read so far. Raise redis.RedisError."""
    verdict, read = Verdict(), 0
    for names in _batches(client):
        for name in names:
            outcome = _verify(client, secret, name)
            if isinstance(outcome, Reject):
                verdict.rejects[outcome] += 1
            elif outcome:
                verdict.num_whole += 1
            else:
                verdict.gone += 1
        read += len(names)
        progress(read)
    return verdict


def clear(client: redis.Redis) -> int:
    """Delete every block and no other key. Return the number of blocks. Raise redis.RedisError."""
    return sum(client.unlink(*names) for names in _batches(client))


def _verify(client: redis.Redis, secret: bytes, name: bytes) -> Reject | bool:
    try:
        value = client.get(name)
    except redis.ResponseError:
        return Reject.TYPE
    if not isinstance(value, bytes):
        return False
    header, payload = value[:HEADER_BYTES], memoryview(value)[HEADER_BYTES:]
    fingerprint = fingerprint_of(header)
    if fingerprint is None:
        return Reject.LENGTH
    try:
        key = bytes.fromhex(name.removeprefix(KEY_PREFIX).decode())
    except ValueError:
        return Reject.KEY
    seal = BlockSeal(secret, fingerprint)
    reject = seal.check_header(key, header, len(value), payload.nbytes) or seal.check_payload(header, payload)
    return True if reject is None else reject


def _batches(client: redis.Redis) -> Iterator[list[bytes]]:
    """Yield the keys of all blocks once each. SCAN itself may return a key twice."""
    cursor, seen = 0, set[bytes]()
    while True:
        cursor, names = client.scan(cursor, match=KEY_PREFIX + b"*", count=_AT_ONCE)
        new = [name for name in names if isinstance(name, bytes) and name not in seen]
        seen.update(new)
        if new:
            yield new
        if cursor == 0:
            return
