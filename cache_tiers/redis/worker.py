"""A worker thread and its connection."""

import logging
import threading

from cache_tiers.redis.address import RedisAddress
from cache_tiers.redis.breaker import CircuitBreaker
from cache_tiers.redis.errors import RedisError, RedisProtocolError, RedisRefusedError
from cache_tiers.redis.job_queue import JobQueue
from cache_tiers.redis.jobs import Job
from cache_tiers.redis.needed_commands import check_reads
from cache_tiers.redis.resp import RespConnection, Timeouts
from cache_tiers.redis.write_gate import WriteGate

logger = logging.getLogger(__name__)


class RedisWorker:
    """A thread that runs and finishes every job of the queue until the queue is closed."""

    def __init__(
        self,
        name: str,
        address: RedisAddress,
        timeouts: Timeouts,
        queue: JobQueue,
        breaker: CircuitBreaker,
        gate: WriteGate,
    ) -> None:
        self._address = address
        self._timeouts = timeouts
        self._queue = queue
        self._breaker = breaker
        self._gate = gate
        self._num_changes = 0
        self._connection: RespConnection | None = None
        self._getex = True
        self._stopping = False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Abort the exchange in flight and join the thread. The queue must already be closed."""
        self._stopping = True
        connection = self._connection
        if connection is not None:
            connection.abort()
        self._thread.join()

    def _work(self) -> None:
        # Connecting to a distant Redis takes two round trips, which no job should have to wait for.
        try:
            self._connect()
        except (OSError, RedisError):
            self._disconnect()
        while (job := self._queue.take()) is not None:
            try:
                if self._breaker.closed and not self._stopping:
                    self._attempt(job)
            except Exception:
                logger.exception("a Redis job failed unexpectedly")
                self._disconnect()
            self._queue.done(job)
            try:
                job.finish()
            except Exception:
                logger.exception("the callback of a Redis job failed")
        self._disconnect()

    def _attempt(self, job: Job) -> None:
        """Run the job. A fault of the server or the network trips the breaker and raises nothing."""
        try:
            if self._num_changes != self._gate.num_changes:
                self._disconnect()
            if self._connection is not None and self._run_on_old_connection(job, self._connection):
                return
            connection = self._connect()
            if not self._stopping:
                job.run(connection, getex=self._getex)
        except (OSError, RedisError) as error:
            self._disconnect()
            if not self._stopping:
                self._breaker.trip(describe_fault(error))

    def _connect(self) -> RespConnection:
        self._num_changes = self._gate.num_changes
        self._connection = RespConnection(self._address, self._timeouts)
        self._getex = check_reads(self._connection)
        return self._connection

    def _run_on_old_connection(self, job: Job, connection: RespConnection) -> bool:
        """Run the job. Return False if a new connection is worth a try.

        The server has closed the old one. Or the server refuses a command that it accepted before, and a new connection
        may lead to another server, or manage without that command.
        """
        try:
            job.run(connection, getex=self._getex)
        except (ConnectionError, RedisRefusedError):
            self._disconnect()
            if self._stopping:
                raise
            return False
        return True

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def describe_fault(error: OSError | RedisError) -> str:
    """Describe in one phrase for people why Redis is not used."""
    if isinstance(error, RedisRefusedError):
        return f"Redis refuses {error}"
    if isinstance(error, RedisProtocolError):
        return f"Redis sent an invalid reply: {error}"
    if isinstance(error, RedisError):
        return f"Redis cannot be used: {error}"
    if isinstance(error, TimeoutError):
        return "Redis does not answer in time"
    if isinstance(error, ConnectionRefusedError | FileNotFoundError):
        return "nothing is listening at the Redis address"
    return f"Redis cannot be reached: {error.strerror or error}"
