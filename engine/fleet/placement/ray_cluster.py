"""Connection of this process to a Ray cluster."""

import asyncio
import atexit
import ipaddress
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Final, TypeVar

from engine.api.errors import EngineError
from engine.fleet.placement.deferred_signals import kept_handlers

T = TypeVar("T")

AUTO: Final = "auto"
"""Address of the cluster that this machine belongs to."""

LEAVE_SECONDS: Final = 5.0
RECONNECT_SECONDS: Final = 24 * 3600
"""Time without the cluster's head before Ray ends this process. Replicas that run do not need the head."""

FAREWELL_MS: Final = 500
"""Time limit of each of the two reports that Ray sends to the head as this process leaves, 5 s by default.

Together they must be shorter than LEAVE_SECONDS: a process may crash that ends while Ray waits for a lost head.
"""

REFUSED: Final = 3
STRANGER: Final = f"""
import sys
from ray._raylet import GcsClient
from ray.exceptions import AuthenticationError
try:
    GcsClient(address=sys.argv[1])
except AuthenticationError:
    sys.exit({REFUSED})
"""
"""Program that connects to a head without the token. A process that has imported Ray could not: it sends the token."""


def connect(address: str) -> None:
    """Connect this process to the cluster at `address`, which is AUTO or HOST:PORT.

    Raise EngineError if Ray is not installed, the address is public, or the cluster does not accept the connection.
    """
    if address != AUTO:
        check_private(address.rpartition(":")[0].strip("[]"))
    # Ray reads these while it is imported.
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_gcs_rpc_server_reconnect_timeout_s", str(RECONNECT_SECONDS))
    os.environ.setdefault("RAY_task_events_shutdown_flush_timeout_ms", str(FAREWELL_MS))
    try:
        import ray
    except ImportError as error:
        raise EngineError("--ray-address needs Ray. Install it with `make setup RAY=1`.") from error
    _ignore_messages()
    try:
        # Ray's own handler writes the stacks of all threads for a server that is simply told to end.
        with kept_handlers(signal.SIGTERM):
            ray.init(address=address, namespace="ebb", log_to_driver=False, configure_logging=False)
    except Exception as error:  # whatever Ray raises: several classes, most of them undocumented
        reason = str(error).strip().partition("\n")[0]
        raise EngineError(
            f"--ray-address {address}: {reason}. Run `ebb doctor` with the same option to see what is missing."
        ) from error


def demands_token() -> bool:
    """Return whether the head of the cluster, to which this process is connected, refuses clients without the token."""
    import ray

    asking = [sys.executable, "-c", STRANGER, ray.get_runtime_context().gcs_address]
    asked = subprocess.run(asking, env={**os.environ, "RAY_AUTH_MODE": "disabled"}, capture_output=True, check=False)
    return asked.returncode == REFUSED


def _ignore_messages() -> None:
    """Keep Ray from reading messages of the cluster on a thread, which occupies a core while the head is lost."""
    from ray._private import worker

    worker.listen_error_messages = lambda *_: None


def disconnect() -> None:
    """Leave the cluster, which ends the actors of this process. Without its head, give up after LEAVE_SECONDS."""
    import ray

    # Otherwise Ray leaves once more at the end of the process, and waits for the head without a limit.
    atexit.unregister(ray.shutdown)
    leaving = Thread(target=ray.shutdown, name="leave-ray", daemon=True)
    # Ray sets the handlers that it had replaced to the default.
    with kept_handlers(signal.SIGTERM):
        leaving.start()
        leaving.join(LEAVE_SECONDS)


async def called(call: Callable[[], T]) -> T:
    """Return the result of a call of Ray. Without the head it may block forever, also beyond the end of the loop."""
    result: Future[T] = Future()
    # A call cannot be cancelled.
    result.set_running_or_notify_cancel()

    def run() -> None:
        try:
            result.set_result(call())
        except BaseException as error:
            result.set_exception(error)

    # An executor would wait for the thread at the end of the process.
    Thread(target=run, name="ray-call", daemon=True).start()
    return await asyncio.wrap_future(result)


def check_private(host: str) -> None:
    """Raise EngineError for an address of a public interface. Names are accepted, and their addresses not looked up."""
    try:
        is_private = ipaddress.ip_address(host).is_private
    except ValueError:
        return
    if not is_private:
        raise EngineError(
            f"{host} is a public address, and a Ray cluster runs the code of every client that it accepts. Let the "
            "cluster use a private network: `ray start --node-ip-address` with a private address."
        )
