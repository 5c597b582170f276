"""`ebb doctor` and a cluster: the right token is accepted, and any other is refused by Ray."""

import asyncio
import os
import sys
from pathlib import Path

from tests.ray.cluster import RayCluster

CHECK = """
import sys
from app.config.settings import load_settings
from app.doctor.ray_check import check_ray
finding = check_ray(load_settings({"ray-address": sys.argv[1], "replicas": "3"}, environ={}))
print(finding.level, finding.text)
"""


async def checked(address: str, home: Path, **environment: str) -> str:
    """Return the finding about a cluster, in a process that is no part of it yet."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", CHECK, address),
        env={**os.environ, "HOME": str(home), **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    out, _ = await process.communicate()
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
    assert ours == "ok ray 2.60.0, 3 machines with 6 CPUs: 2 for each of 3 replicas"
    assert other.startswith(f"fail --ray-address {cluster.address}: ")
