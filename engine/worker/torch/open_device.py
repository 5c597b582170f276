"""Choice of the device by name. Only this module and `accelerator` distinguish cpu, cuda and npu."""

from engine.errors import EngineError
from engine.worker.torch.cpu_device import CpuDevice
from engine.worker.torch.device import Device


def open_device(name: str) -> Device:
    """Open the device `name`: "cpu", "cuda" or "npu". Raise EngineError if the machine does not have it."""
    if name == "cpu":
        return CpuDevice()
    if name in ("cuda", "npu"):
        from engine.worker.torch.accelerator import AcceleratorDevice

        return AcceleratorDevice(name)
    raise EngineError(f"no device is called {name!r}; there are cpu, cuda and npu")
