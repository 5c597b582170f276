"""Division of a cluster's CPUs and devices. No test needs Ray."""

import pytest

from engine.api.errors import EngineError
from engine.executor.ray_stage import Machine, StageSize, actor_options, stage_size


@pytest.mark.parametrize(
    ("cpus", "count", "stages", "share"),
    [
        ([4, 4, 4], 3, 1, 4),
        ([4, 4, 4], 2, 1, 4),
        ([4, 4, 4], 4, 1, 2),
        ([8, 4], 3, 1, 4),
        ([8, 2], 3, 1, 2),
        ([1, 1], 2, 1, 1),
        ([16], 3, 1, 5),
        ([4, 4], 1, 2, 4),
        ([4, 4], 1, 4, 2),
        ([4, 4, 4], 2, 2, 2),
    ],
)
def test_stages_get_the_most_cpus_that_fit(cpus: list[int], count: int, stages: int, share: int) -> None:
    cluster = [Machine(each) for each in cpus]
    size = stage_size(cluster, count, stages=stages, ranks=1, kind="cpu")
    assert size == StageSize(share)
    assert sum(size.fitting(machine) for machine in cluster) >= count * stages


def test_each_rank_gets_a_device() -> None:
    cluster = [Machine(16, 4), Machine(16, 2), Machine(64)]
    assert stage_size(cluster, 3, stages=1, ranks=2, kind="cuda") == StageSize(8, 2, "cuda")
    assert stage_size(cluster, 3, stages=2, ranks=1, kind="npu") == StageSize(4, 1, "npu")
    assert StageSize(8, 2, "cuda").fitting(cluster[2]) == 0


@pytest.mark.parametrize(
    ("cluster", "stages", "ranks", "kind", "reason"),
    [
        ([Machine(2), Machine(1)], 1, 2, "cpu", "3 CPUs on 2 machines, and every replica needs one. "),
        (
            [Machine(2), Machine(1)],
            2,
            1,
            "cpu",
            "3 CPUs on 2 machines, and each of the 2 stages of every replica needs",
        ),
        (
            [Machine(8, 1), Machine(8, 4)],
            1,
            2,
            "cuda",
            "16 CPUs and 5 GPUs on 2 machines, and every replica needs 1 CPU and 2 GPUs of one machine",
        ),
        (
            [Machine(8)],
            1,
            1,
            "npu",
            "8 CPUs and 0 NPUs on 1 machine, and every replica needs 1 CPU and 1 NPU",
        ),
    ],
)
def test_clusters_without_room_are_refused(
    cluster: list[Machine], stages: int, ranks: int, kind: str, reason: str
) -> None:
    with pytest.raises(EngineError, match=f"--replicas 4: the Ray cluster has {reason}"):
        stage_size(cluster, 4, stages=stages, ranks=ranks, kind=kind)


def test_actors_occupy_what_a_stage_has() -> None:
    assert actor_options(StageSize(3).bundle) == {"num_cpus": 3, "num_gpus": 0, "resources": {}}
    assert actor_options(StageSize(3, 2, "cuda").bundle) == {"num_cpus": 3, "num_gpus": 2, "resources": {}}
    assert actor_options(StageSize(3, 2, "npu").bundle) == {"num_cpus": 3, "num_gpus": 0, "resources": {"NPU": 2}}
