"""Check of the Ray cluster on whose machines the replicas run."""

import socket
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from app.config.parsers import RAY_AUTO
from app.config.settings import Settings
from app.doctor.finding import Finding
from engine.api.errors import EngineError
from engine.device.choice import choose_device
from engine.executor.ray_stage import in_words, machines, stage_size
from engine.fleet.placement.ray_cluster import connect, demands_token, disconnect

TOKEN = Path("~/.ray/auth_token")
"""Place where Ray keeps the token, unless a variable of its own names another one."""

REACH_SECONDS = 3.0
"""Time limit of a connection to the head."""


def check_ray(settings: Settings) -> Finding:
    """Check that the cluster demands this machine's token, has its version of Ray, and has room for the replicas."""
    address, replicas, stages = settings.ray_address, settings.replicas, settings.pipeline_parallel_size
    kind = choose_device(settings.device)
    if not address:
        return Finding("ok", "ray", "off: replicas run on this machine")
    try:
        installed = version("ray")
    except PackageNotFoundError:
        return Finding("fail", "ray", "not installed", "run `make setup RAY=1`, or omit --ray-address")
    if reason := _why_unreachable(address):
        return Finding("fail", "ray", reason, "start the head: see docs/guides/fleet.md, or correct --ray-address")
    try:
        connect(address)
        try:
            cluster = machines(kind).values()
            size = stage_size(cluster, replicas, stages=stages, ranks=settings.tensor_parallel_size, kind=kind)
            is_closed = demands_token()
        finally:
            disconnect()
    except EngineError as error:
        advice = "every machine needs the same Ray and the same token: see docs/guides/fleet.md"
        return Finding("fail", "ray", error.message, advice)
    users = "1 replica" if replicas == 1 else f"{replicas} replicas"
    if stages > 1:
        users = f"the {stages} stages of {users}"
    text = f"ray {installed}, {in_words(cluster, kind)}: {size} for each of {users}"
    if not is_closed:
        text += "; the cluster accepts programs without the token, and runs their code"
        return Finding(
            "fail", "ray", text, "start every machine of it with RAY_AUTH_MODE=token: see docs/guides/fleet.md"
        )
    if _is_token_readable():
        return Finding("warn", "ray", f"{text}; other users can read {TOKEN}", f"chmod 600 {TOKEN}")
    return Finding("ok", "ray", text)


def _is_token_readable() -> bool:
    """Return whether other users of this machine can read the token."""
    path = TOKEN.expanduser()
    return path.exists() and bool(path.stat().st_mode & 0o077)


def _why_unreachable(address: str) -> str:
    """Return why the head does not accept connections; empty if it does. Ray itself would try for a long time."""
    if address == RAY_AUTO:
        return ""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACH_SECONDS).close()
    except OSError as error:
        return f"{address} cannot be reached: {error.strerror or error}"
    return ""
