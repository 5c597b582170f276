"""Redis as a tier: its commands for the values of blocks, on one connection."""

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from cache_tiers.lower.backend import Refusal, TierClient, TierDescription, TierFaultError, Usage, Value
from cache_tiers.lower.link_speed import LinkMeter
from cache_tiers.lower.sealed_value import HEADER_BYTES, Reject
from cache_tiers.redis.address import RedisAddress
from cache_tiers.redis.errors import RedisProtocolError, RedisRefusedError
from cache_tiers.redis.keys import redis_key
from cache_tiers.redis.needed_commands import check_reads, refused_write
from cache_tiers.redis.resp import ErrorReply, Reply, RespConnection, Timeouts, command
from cache_tiers.tier import BLOCK_TTL_SECONDS, Tier

REDIS: Final = Tier("redis", "Redis")

MAX_VALUE_BYTES: Final = 2 << 20
"""Largest payload of a value.

A server allocates each value and each reply as one piece, and returns large pieces to the system at once. Mapping and
faulting them in again costs more than copying them. Values of this size stay below that threshold.
"""
_FIRST_AHEAD: Final = 8
"""Values to request ahead while the link's speed is unknown."""


# One lane, since Redis serves one client at a time and two would disturb each other.
DESCRIPTION: Final = TierDescription(tier=REDIS, place="", max_value_bytes=MAX_VALUE_BYTES)
"""Properties of a Redis, apart from its place."""


class RedisBackend:
    """A Redis, which does not have to be reachable.

    ttl_seconds: time to live of an unused block.
    renew_seconds, max_value_bytes: see TierDescription.
    """

    def __init__(
        self,
        address: RedisAddress,
        *,
        timeouts: Timeouts | None = None,
        ttl_seconds: int = BLOCK_TTL_SECONDS,
        renew_seconds: float = 60.0,
        max_value_bytes: int = MAX_VALUE_BYTES,
    ) -> None:
        self._address = address
        self._timeouts = timeouts or Timeouts()
        self._ttl_seconds = ttl_seconds
        self.description = replace(
            DESCRIPTION, place=str(address), renew_seconds=renew_seconds, max_value_bytes=max_value_bytes
        )

    def connect(self, meter: LinkMeter, _client: TierClient) -> "RedisSession":
        """See TierBackend."""
        return RedisSession(RespConnection(self._address, self._timeouts), meter, self._ttl_seconds)

    def describe_fault(self, error: OSError | TierFaultError) -> str:
        """See TierBackend."""
        if isinstance(error, RedisRefusedError):
            return f"Redis refuses {error}"
        if isinstance(error, RedisProtocolError):
            return f"Redis sent an invalid reply: {error}"
        if isinstance(error, TimeoutError):
            return "Redis does not answer in time"
        if isinstance(error, ConnectionRefusedError | FileNotFoundError):
            return "nothing is listening at the Redis address"
        words = error.strerror if isinstance(error, OSError) else None
        return f"Redis cannot be reached: {words or error}"


class RedisSession:
    """The values of a Redis on one connection. See TierSession."""

    def __init__(self, connection: RespConnection, meter: LinkMeter, ttl_seconds: int) -> None:
        self._connection = connection
        self._meter = meter
        self._ttl = b"%d" % ttl_seconds
        self._getex = True

    def prepare(self) -> None:
        """Try what reads need."""
        self._getex = check_reads(self._connection)

    def find(self, keys: Sequence[bytes]) -> list[bool]:
        """Look the keys up in one round trip."""
        self._connection.start_exchange()
        self._connection.send([b"".join(command(b"EXISTS", redis_key(key)) for key in keys)])
        asked = time.monotonic()
        self._connection.await_reply()
        self._meter.on_answer(time.monotonic() - asked)
        replies = self._replies(len(keys))
        if (error := _first_error(replies)) is not None:
            raise RedisRefusedError(f"EXISTS: {error.text}")
        return [reply == 1 for reply in replies]

    def read(self, values: Iterator[Value]) -> Iterator[int | Reject | None]:
        """Receive values into their memory and renew their time to live.

        Only as many values are requested ahead as keep the link busy. Redis copies everything that one client has
        requested before it sends the first byte, and serves no other client until then.
        """
        asked: deque[Value] = deque()

        def ask(most: int) -> None:
            wanted = list(islice(values, most))
            if wanted:
                if not asked:
                    self._connection.start_exchange()
                self._connection.send([b"".join(map(self._request, wanted))])
                asked.extend(wanted)

        # Request the first value alone, so that its reply begins before the others are copied.
        ask(1)
        if not asked:
            return
        began = time.monotonic()
        ask(self._ahead(asked[0]) - 1)
        self._connection.await_reply()
        self._meter.on_answer(time.monotonic() - began)
        with self._meter.receiving(lambda: self._connection.num_received):
            while asked:
                ask(max(0, self._ahead(asked[0]) + 1 - len(asked)))
                value = asked.popleft()
                self._connection.extend_exchange(value.payload.nbytes)
                found = self._receive(value)
                if not self._getex:
                    # Redis may refuse to renew a value that it still serves.
                    self._connection.read_reply()
                yield found

    def _request(self, value: Value) -> bytes:
        name = redis_key(value.key)
        if self._getex:
            return command(b"GETEX", name, b"EX", self._ttl)
        return command(b"GET", name) + command(b"EXPIRE", name, self._ttl)

    def _ahead(self, value: Value) -> int:
        return self._meter.speed.messages_under_way(value.payload.nbytes) or _FIRST_AHEAD

    def _receive(self, value: Value) -> int | Reject | None:
        """Read the bulk reply of one value to its end, fitting or not, so that the connection stays in step."""
        length = self._connection.read_bulk_length()
        if isinstance(length, ErrorReply):
            if length.text.startswith("WRONGTYPE"):
                return Reject.TYPE
            raise RedisRefusedError(f"{'GETEX' if self._getex else 'GET'}: {length.text}")
        if length is None:
            return None
        header = memoryview(value.header)[:length]
        self._connection.read_into(header)
        if length == HEADER_BYTES + value.payload.nbytes:
            self._connection.read_into(value.payload)
        else:
            self._connection.skip(length - header.nbytes)
        self._connection.end_bulk()
        return length

    def write(self, values: Iterable[Value]) -> Refusal | None:
        """Send all values but the last without waiting for replies, then the last one."""
        self._connection.start_exchange()
        num_unanswered = 0
        for value in values:
            if value.is_last:
                refusal = _refusal("SET", self._replies(num_unanswered))
                if refusal is not None:
                    return refusal
                num_unanswered = 0
            self._send(value)
            num_unanswered += 1
        return _refusal("SET", self._replies(num_unanswered))

    def _send(self, value: Value) -> None:
        name, nbytes = redis_key(value.key), len(value.header) + value.payload.nbytes
        head = b"*5\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n" % (len(name), name, nbytes)
        tail = b"\r\n$2\r\nEX\r\n$%d\r\n%s\r\n" % (len(self._ttl), self._ttl)
        self._connection.extend_exchange(value.payload.nbytes)
        self._connection.send([head + value.header, value.payload, tail])

    def keep(self, keys: Sequence[bytes]) -> list[bool] | Refusal:
        """Renew the time to live in one round trip. Redis' own LRU counts the values as used in the order of `keys`."""
        self._connection.start_exchange()
        self._connection.send([b"".join(command(b"EXPIRE", redis_key(key), self._ttl) for key in keys)])
        replies = self._replies(len(keys))
        return _refusal("EXPIRE", replies) or [reply == 1 for reply in replies]

    def remove(self, keys: Sequence[bytes]) -> Refusal | None:
        """Remove the values with one command."""
        return _refusal("UNLINK", [self._connection.call(b"UNLINK", *map(redis_key, keys))])

    def usage(self) -> Usage:
        """Ask for the memory, try what reads need, and try what writes need."""
        asked = time.monotonic()
        memory = self._connection.call(b"INFO", b"memory")
        self._meter.on_answer(time.monotonic() - asked)
        # Only Redis 7 and later accept several sections in one INFO command.
        counts = self._connection.call(b"INFO", b"stats")
        check_reads(self._connection)
        refusal = refused_write(self._connection)
        info = memory + counts if isinstance(memory, bytes) and isinstance(counts, bytes) else b""
        return parse_usage(info, refusal)

    def abort(self) -> None:
        """End the exchange in progress."""
        self._connection.abort()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _replies(self, count: int) -> list[Reply]:
        return [self._connection.read_reply() for _ in range(count)]


def parse_usage(info: bytes, refusal: str = "") -> Usage:
    """Read the figures of a reply to INFO, which may lack any of them."""
    fields = dict(line.split(b":", 1) for line in info.splitlines() if b":" in line)

    def number(name: bytes) -> int:
        text = fields.get(name, b"0")
        return int(text) if text.isdigit() else 0

    used, limit = number(b"used_memory"), number(b"maxmemory")
    return Usage(used_bytes=used, capacity_bytes=limit, evicted=number(b"evicted_keys"), refusal=refusal)


def _first_error(replies: Iterable[Reply]) -> ErrorReply | None:
    return next((reply for reply in replies if isinstance(reply, ErrorReply)), None)


def _refusal(name: str, replies: Iterable[Reply]) -> Refusal | None:
    error = _first_error(replies)
    return Refusal(f"{name}: {error.text}") if error is not None else None
