"""Plug-in that lets plain LMCache run where torch has an NPU, through its `lmcache.device_plugins` entry point.

LMCache's own NPU platform requires compiled kernels from another package, which move KV between a device and LMCache.
Here the engine moves the KV. LMCache only manages host memory, which this plug-in makes it pin for the NPU.
LMCache imports this module while LMCache itself is being imported.
"""

# mypy: disable-error-code="import-untyped"

from typing import ClassVar

import torch
from lmcache.v1.platform.base.device_ops import DeviceOps
from lmcache.v1.platform.base.device_spec import DeviceSpec
from lmcache.v1.platform.base.pin_memory import PinMemoryBackend
from lmcache.v1.platform.devices.npu.pin_memory import NpuPinMemoryBackend


class _HostOps(DeviceOps):  # type: ignore[misc]
    """LMCache's plain torch operations, which do not look for a native module."""

    device_type: ClassVar[str] = "npu"


class EbbNpuSpec(DeviceSpec):  # type: ignore[misc]
    """An NPU whose KV the engine moves, not LMCache."""

    @property
    def device_type(self) -> str:
        """Name of the device type in torch."""
        return "npu"

    @property
    def backend_name(self) -> str:
        """Name of the entry point, selected with LMCACHE_DEVICE_BACKEND in `lmcache_adapter`."""
        return "ebb-npu"

    @property
    def torch_module_name(self) -> str:
        """Name of the module in torch: torch.npu."""
        return "npu"

    @property
    def ops_cls(self) -> type[DeviceOps]:
        """Device operations: see `_HostOps`."""
        return _HostOps

    @property
    def pin_memory_backend(self) -> type[PinMemoryBackend]:
        """Pinning with aclrtHostRegister, from LMCache's own NPU platform."""
        backend: type[PinMemoryBackend] = NpuPinMemoryBackend
        return backend

    def is_available(self) -> bool:
        """Return True if torch_npu is loaded and sees a device."""
        return hasattr(torch, "npu") and bool(torch.npu.is_available())
