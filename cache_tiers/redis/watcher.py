"""The thread that asks Redis about itself once a second, tries its commands, and tries it again after a fault."""

import threading
import time
from dataclasses import dataclass

from cache_tiers.lower.link_speed import LinkMeter
from cache_tiers.redis.address import RedisAddress
from cache_tiers.redis.breaker import CircuitBreaker
from cache_tiers.redis.errors import RedisError
from cache_tiers.redis.needed_commands import check_reads, refused_write
from cache_tiers.redis.resp import RespConnection, Timeouts
from cache_tiers.redis.worker import describe_fault
from cache_tiers.redis.write_gate import WriteGate

_INTERVAL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class RedisMemory:
    """Memory figures from INFO, in bytes; 0 if unknown or, for `limit`, if there is none.

    evicted_keys: number of evictions since the server started.
    """

    used: int = 0
    limit: int = 0
    evicted_keys: int = 0


class RedisWatcher:
    """Source of probes for the breaker, the gate and the meter, and of the memory figures.

    Construction makes the first probe.
    """

    def __init__(
        self,
        address: RedisAddress,
        timeouts: Timeouts,
        breaker: CircuitBreaker,
        gate: WriteGate,
        meter: LinkMeter,
    ) -> None:
        self._gate = gate
        self._meter = meter
        self._address = address
        self._timeouts = timeouts
        self._breaker = breaker
        self._connection: RespConnection | None = None
        self._memory = RedisMemory()
        self._stopping = False
        self._probe()
        self._thread = threading.Thread(target=self._watch, name="redis-watcher", daemon=True)
        self._thread.start()

    @property
    def memory(self) -> RedisMemory:
        """The figures of the last answered probe."""
        return self._memory

    def stop(self) -> None:
        """End the thread."""
        self._stopping = True
        connection = self._connection
        if connection is not None:
            connection.abort()
        self._breaker.wake()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stopping:
            self._breaker.wait_for_probe(_INTERVAL_SECONDS)
            if not self._stopping:
                self._probe()
        self._disconnect()

    def _probe(self) -> None:
        try:
            if self._connection is None:
                self._connection = RespConnection(self._address, self._timeouts)
            asked = time.monotonic()
            reply = self._connection.call(b"INFO", b"memory")
            self._meter.on_answer(time.monotonic() - asked)
            # Only Redis 7 and later accept several sections in one INFO command.
            counts = self._connection.call(b"INFO", b"stats")
            check_reads(self._connection)
            refusal = refused_write(self._connection)
        except (OSError, RedisError) as error:
            self._disconnect()
            self._breaker.trip(describe_fault(error))
            return
        if isinstance(reply, bytes) and isinstance(counts, bytes):
            self._memory = _parse_memory(reply + counts)
        self._breaker.close()
        self._gate.on_probe(refusal)
        if refusal:
            # The address may lead to another server by the next probe.
            self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _parse_memory(info: bytes) -> RedisMemory:
    fields = dict(line.split(b":", 1) for line in info.splitlines() if b":" in line)

    def number(name: bytes) -> int:
        text = fields.get(name, b"0")
        return int(text) if text.isdigit() else 0

    return RedisMemory(used=number(b"used_memory"), limit=number(b"maxmemory"), evicted_keys=number(b"evicted_keys"))
