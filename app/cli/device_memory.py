"""Memory of the device that would compute a model: how much is free, and how fast it delivers weights."""

from dataclasses import dataclass

from app.config.settings import Settings
from engine.api.errors import EngineError
from engine.device.choice import choose_device
from engine.worker.host_resources import available_memory, usable_cores


@dataclass(frozen=True, slots=True)
class ComputingMemory:
    """Memory of the device that computes, or of all devices that divide a model.

    place: the devices, for a sentence; empty for the host.
    available: free bytes; None if unknown.
    bandwidth: bytes per second for one answer, at most; None if unknown.
    reason: where the bandwidth is known from, or why it is unknown, for a sentence.
    """

    place: str
    available: int | None
    bandwidth: float | None
    reason: str


def computing_memory(settings: Settings) -> ComputingMemory:
    """Return the memory of the device that `settings` select. Measuring the host bandwidth takes about a second."""
    name = choose_device(settings.device)
    if name == "cpu":
        from app.cli.memory_speed import read_bandwidth

        available = available_memory()
        bandwidth = read_bandwidth(usable_cores(), available)
        return ComputingMemory("", available, bandwidth, f"the memory delivered {_per_second(bandwidth)} just now")
    # Imported here because torch is needed for the memory of accelerators only.
    from engine.worker.torch.devices import open_device

    ranks, stages = settings.tensor_parallel_size, settings.pipeline_parallel_size
    place = f"the {name} device" if ranks * stages == 1 else f"{ranks * stages} {name} devices"
    try:
        device = open_device(name)
    except EngineError as error:
        return ComputingMemory(place, None, None, error.message)
    available, each = ranks * stages * device.available_memory(), device.memory_bandwidth()
    if each is None:
        return ComputingMemory(place, available, None, f"Ebb does not know the memory bandwidth of the {name} device")
    # The ranks read their parts of the weights at once, and the stages one after another.
    whose = f"the {name} device" if ranks == 1 else f"each of {ranks} {name} devices"
    reason = f"the driver states {_per_second(each)} for the memory of {whose}"
    return ComputingMemory(place, available, float(ranks * each), reason)


def _per_second(bandwidth: float) -> str:
    return f"{bandwidth / 1e9:,.0f} GB/s"
