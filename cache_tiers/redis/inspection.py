"""Inspection of a Redis by people. redis-py is fast enough here, since no answer waits for the result.

A large block is stored as several values. Each counts as a block here, because a value does not say how many there are.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from cache_tiers.lower.inspection import InspectionError, StoredBlocks, Verdict, check_value
from cache_tiers.lower.sealed_value import HEADER_BYTES, Reject, fingerprint_of
from cache_tiers.redis.address import RedisAddress
from cache_tiers.redis.keys import KEY_PREFIX

_AT_ONCE: Final = 200
_SECONDS: Final = 10.0


class RedisInspection:
    """The blocks in a Redis. See TierInspection.

    is_companion: whether the server is the companion, which runs only while Ebb does.
    """

    def __init__(self, address: RedisAddress, secret: bytes, *, is_companion: bool) -> None:
        self._address = address
        self._secret = secret
        self._is_companion = is_companion

    @property
    def place(self) -> str:
        """See TierInspection."""
        return str(self._address)

    @property
    def is_private(self) -> bool:
        """See TierInspection. Servers with other secrets may use a Redis that the operator named."""
        return self._is_companion

    def stat(self) -> StoredBlocks:
        """See TierInspection. Only the headers are read."""
        with self._connected() as client:
            memory, counts = client.info("memory"), client.info("stats")
            by_model, bytes_by_model = Counter[str](), Counter[str]()
            for names in _batches(client):
                for length, header in _headers(client, names):
                    fingerprint = fingerprint_of(header)
                    model = fingerprint.hex()[:8] if fingerprint is not None else "unknown"
                    by_model[model] += 1
                    bytes_by_model[model] += length
        return StoredBlocks(
            used_bytes=memory["used_memory"],
            limit_bytes=memory["maxmemory"],
            evicted=counts["evicted_keys"],
            by_model=by_model,
            bytes_by_model=bytes_by_model,
        )

    def verify(self, progress: Callable[[int], None]) -> Verdict:
        """See TierInspection."""
        verdict, read = Verdict(), 0
        with self._connected() as client:
            for names in _batches(client):
                for name in names:
                    verdict.count(_verify(client, self._secret, name))
                read += len(names)
                progress(read)
        return verdict

    def clear(self) -> int:
        """See TierInspection."""
        with self._connected() as client:
            return sum(client.unlink(*names) for names in _batches(client))

    @contextmanager
    def _connected(self) -> Iterator[redis.Redis]:
        try:
            with _client(self._address) as client:
                yield client
        except redis.RedisError as error:
            raise InspectionError(self._advice(error)) from error

    def _advice(self, error: redis.RedisError) -> str:
        if self._is_companion:
            return (
                f"no Redis answers at {self._address}: the companion Redis runs only while the server runs. Start "
                "`ebb serve` with the same --state-dir, or set --redis-url"
            )
        return f"no Redis answers at {self._address}: {error}"


def _client(address: RedisAddress) -> redis.Redis:
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


def _headers(client: redis.Redis, names: list[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the length and the header of each value that is there."""
    pipeline = client.pipeline(transaction=False)
    for name in names:
        pipeline.strlen(name)
        pipeline.getrange(name, 0, HEADER_BYTES - 1)
    replies = pipeline.execute(raise_on_error=False)
    for length, header in zip(replies[::2], replies[1::2], strict=True):
        if isinstance(length, int) and length > 0:
            yield length, header


def _verify(client: redis.Redis, secret: bytes, name: bytes) -> Reject | bool:
    try:
        value = client.get(name)
    except redis.ResponseError:
        return Reject.TYPE
    if not isinstance(value, bytes):
        return False
    try:
        key = bytes.fromhex(name.removeprefix(KEY_PREFIX).decode())
    except ValueError:
        return Reject.KEY
    return check_value(secret, key, value) or True


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
