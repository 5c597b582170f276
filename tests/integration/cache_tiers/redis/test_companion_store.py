"""A tiered store on its companion Redis, with either of the two killed."""

import os
import signal
from pathlib import Path

from cache_tiers.redis.companion import RedisCompanion
from cache_tiers.redis.server_binary import find_redis_server
from tests.store_rig import Rigs, keys
from tests.waiting import until

pytest_plugins = ["tests.store_fixtures"]


def launch(state_dir: Path) -> RedisCompanion:
    binary = find_redis_server()
    assert binary is not None
    companion = RedisCompanion(state_dir, binary=binary, max_memory=64 << 20)
    companion.start()
    return companion


def test_store_survives_sigkill_of_companion(tmp_path: Path, rigs: Rigs) -> None:
    companion = launch(tmp_path)
    rig = rigs.open(companion.address)
    rig.put(keys(range(8)))
    assert rig.store.flush(10)
    assert companion.pid is not None
    os.kill(companion.pid, signal.SIGKILL)
    assert rig.counts(keys(range(8))) == (8, 0)
    until(lambda: companion.relaunches == 1)
    rig.until_stats(lambda stats: stats.lower["redis"].state == "ok")
    until(lambda: rig.put(keys(range(8, 16))) is not None and rig.store.flush(10))
    companion.stop()
    assert rig.counts(keys(range(16))[:8]) == (8, 0)
