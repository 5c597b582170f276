"""`ebb doctor` and a cluster: the right token is accepted, any other is refused by Ray, and none is a fault."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from tests.ray.cluster import MEMORY, RayCluster
from tests.redis_server import free_port

pytestmark = pytest.mark.asyncio(loop_scope="session")

CHECK = """
import signal
import sys
import threading
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
from app.config.settings import load_settings
from app.doctor.ray_check import check_ray
def check():
    finding = check_ray(load_settings({"ray-address": sys.argv[1], "replicas": sys.argv[2]}, environ={}))
    print(finding.level, finding.text, flush=True)
thread = threading.Thread(target=check)
thread.start()
thread.join()
signal.raise_signal(signal.SIGTERM)
sys.exit(1)
"""


async def checked(address: str, home: Path, replicas: int = 3, **environment: str) -> str:
    """Return the finding about a cluster, in a process that is no part of it yet.

    A thread connects, as in the server. Then SIGTERM ends the process as before.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", CHECK, address, str(replicas)),
        env={**os.environ, "HOME": str(home), **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, log = await process.communicate()
    assert (process.returncode, b"SIGTERM received" in log) == (0, False), log.decode()
    return out.decode().strip().splitlines()[-1]


@dataclass(frozen=True)
class OpenHead:
    """Head of another cluster, which demands no token. The head starts while the first test runs."""

    process: asyncio.subprocess.Process
    address: str

    async def until_started(self) -> None:
        """Wait until the head and its machine run."""
        assert self.process.stdout is not None
        while b"Ray runtime started" not in (line := await self.process.stdout.readline()):
            assert line, "the head has ended"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def open_head(
    cluster: RayCluster, at_end: AsyncExitStack, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[OpenHead]:
    """Begin to start the other cluster."""
    folder = tmp_path_factory.mktemp("o", numbered=False)
    port = free_port()
    options = f"--node-ip-address 127.0.0.1 --port {port} --num-cpus 1 --include-dashboard false --disable-usage-stats"
    process = await asyncio.create_subprocess_exec(
        *(str(Path(sys.executable).with_name("ray")), "start", "--head", "--block", *options.split()),
        *("--object-store-memory", str(MEMORY)),
        env={**os.environ, "RAY_AUTH_MODE": "disabled", "RAY_TMPDIR": str(folder)},
        stdout=asyncio.subprocess.PIPE,
    )
    yield OpenHead(process, f"127.0.0.1:{port}")
    process.terminate()
    # Ray takes two seconds for this.
    ending = asyncio.create_task(process.communicate())
    at_end.push_async_callback(asyncio.wait_for, ending, 30)


async def test_only_the_token_of_the_cluster_is_accepted(
    cluster: RayCluster, open_head: OpenHead, tmp_path: Path
) -> None:
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


async def test_cluster_without_token_is_a_fault(open_head: OpenHead, tmp_path: Path) -> None:
    await open_head.until_started()
    assert await checked(open_head.address, tmp_path, replicas=1) == (
        "fail ray 2.60.0, 1 CPU on 1 machine: 1 CPU for each of 1 replica; the cluster accepts programs without the "
        "token, and runs their code"
    )
