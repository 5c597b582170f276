"""`ebb doctor` and a cluster: the right token is accepted, and any other is refused by Ray."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from tests.ray.cluster import RayCluster

pytestmark = pytest.mark.asyncio(loop_scope="session")

CHECK = """
import signal
import sys
import threading
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
from app.config.settings import load_settings
from app.doctor.ray_check import check_ray
def check():
    finding = check_ray(load_settings({"ray-address": sys.argv[1], "replicas": "3"}, environ={}))
    print(finding.level, finding.text, flush=True)
thread = threading.Thread(target=check)
thread.start()
thread.join()
signal.raise_signal(signal.SIGTERM)
sys.exit(1)
"""


async def checked(address: str, home: Path, **environment: str) -> str:
    """Return the finding about a cluster, in a process that is no part of it yet.

    A thread connects, as in the server. Then SIGTERM ends the process as before.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", CHECK, address),
        env={**os.environ, "HOME": str(home), **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, log = await process.communicate()
    assert (process.returncode, b"SIGTERM received" in log) == (0, False), log.decode()
    return out.decode().strip().splitlines()[-1]


async def test_only_the_token_of_the_cluster_is_accepted(cluster: RayCluster, tmp_path: Path) -> None:
    ours, other = await asyncio.gather(
        checked(cluster.address, tmp_path),
        checked(
            cluster.address,
            tmp_path,
            RAY_AUTH_TOKEN="another token, of 32 letters or more",
            RAY_NUM_REDIS_GET_RETRIES="2",
        ),
    )
    assert ours == "ok ray 2.60.0, 6 CPUs on 3 machines: 2 CPUs for each of 3 replicas"
    assert other.startswith(f"fail --ray-address {cluster.address}: ")
