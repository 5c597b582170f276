"""Division of the machines of a Ray cluster among the stages of replicas."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from engine.api.errors import EngineError

RESOURCES: Final[Mapping[str, str]] = MappingProxyType({"cuda": "GPU", "npu": "NPU"})
"""Name of a device's kind in Ray."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The CPUs and devices that a machine offers to actors. Devices are GPUs or NPUs."""

    cpus: int
    devices: int = 0


@dataclass(frozen=True, slots=True)
class StageSize:
    """The CPUs and devices of each stage of each replica. A stage is on one machine.

    kind: of device, as in EngineConfig.
    """

    cpus: int
    devices: int = 0
    kind: str = "cpu"

    @classmethod
    def of_bundle(cls, bundle: Mapping[str, float], kind: str) -> "StageSize":
        """Return the size for which Ray reserved `bundle`."""
        return cls(int(bundle["CPU"]), int(bundle.get(RESOURCES.get(kind, ""), 0)), kind)

    def fitting(self, machine: Machine) -> int:
        """Return the number of such stages for which a machine has room."""
        by_cpus = machine.cpus // self.cpus
        return min(by_cpus, machine.devices // self.devices) if self.devices else by_cpus

    def __str__(self) -> str:
        cpus = _counted(self.cpus, "CPU")
        return f"{cpus} and {_counted(self.devices, RESOURCES[self.kind])}" if self.devices else cpus

    @property
    def bundle(self) -> dict[str, float]:
        """Amounts that Ray reserves for a stage: CPUs, and devices unless it computes on CPUs."""
        return {"CPU": self.cpus, **({RESOURCES[self.kind]: self.devices} if self.devices else {})}


def machines(kind: str) -> dict[str, Machine]:
    """Return the machines of the cluster, by the ids of their nodes, without those that offer no CPUs to actors.

    kind: of the devices that count, as in EngineConfig.
    """
    import ray

    device = RESOURCES.get(kind, "")
    offers = {node["NodeID"]: node["Resources"] for node in ray.nodes() if node["Alive"]}
    found = {node: Machine(int(offer.get("CPU", 0)), int(offer.get(device, 0))) for node, offer in offers.items()}
    return {node: machine for node, machine in found.items() if machine.cpus}


def actor_options(bundle: Mapping[str, float]) -> dict[str, Any]:
    """Return the options of an actor that occupies `bundle`. Ray shows the process no other GPU or NPU."""
    others = {name: amount for name, amount in bundle.items() if name not in ("CPU", "GPU")}
    return {"num_cpus": bundle["CPU"], "num_gpus": bundle.get("GPU", 0), "resources": others}


def stage_size(cluster: Collection[Machine], count: int, *, stages: int, ranks: int, kind: str) -> StageSize:
    """Return the largest size of the stages of `count` replicas with which all of them fit on `cluster`.

    All stages have the same number of CPUs, and a device for each rank unless they compute on CPUs.

    stages: of each replica.
    ranks: of each stage.
    kind: of device, as in EngineConfig.

    Raise EngineError if there are too few CPUs or devices.
    """
    devices = 0 if kind == "cpu" else ranks
    parts, cpus = count * stages, sum(machine.cpus for machine in cluster)
    for share in range(cpus // parts, 0, -1):
        size = StageSize(share, devices, kind)
        if sum(size.fitting(machine) for machine in cluster) >= parts:
            return size
    users = "every replica" if stages == 1 else f"each of the {stages} stages of every replica"
    need = f"{StageSize(1, devices, kind)} of one machine" if devices else "one"
    raise EngineError(
        f"--replicas {count}: the Ray cluster has {in_words(cluster, kind)}, and {users} needs {need}. "
        "Add machines, or lower --replicas."
    )


def in_words(cluster: Collection[Machine], kind: str) -> str:
    """Return the CPUs and devices of the machines of a cluster in words."""
    shown = [_counted(sum(machine.cpus for machine in cluster), "CPU")]
    if kind in RESOURCES:
        shown.append(_counted(sum(machine.devices for machine in cluster), RESOURCES[kind]))
    return f"{' and '.join(shown)} on {_counted(len(cluster), 'machine')}"


def _counted(number: int, unit: str) -> str:
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"
