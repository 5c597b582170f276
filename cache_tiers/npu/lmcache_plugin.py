"""Lets plain LMCache run where torch has an NPU, through its `lmcache.device_plugins` entry point.

LMCache's own NPU platform needs compiled kernels that come with another package, for moving KV between a device and
itself. Here the engine does that, so what is left for LMCache is host memory, which this makes it pin for the NPU.
Imported by LMCache, while it is imported itself.
"""

# mypy: disable-error-code="import-untyped"

from typing import ClassVar

import torch
from lmcache.v1.platform.base.device_ops import DeviceOps
from lmcache.v1.platform.base.device_spec import DeviceSpec
from lmcache.v1.platform.base.pin_memory import PinMemoryBackend
from lmcache.v1.platform.devices.npu.pin_memory import NpuPinMemoryBackend


class _HostOps(DeviceOps):  # type: ignore[misc]
    """LMCache's plain torch operations: no native module is looked for."""

    device_type: ClassVar[str] = "npu"


class EbbNpuSpec(DeviceSpec):  # type: ignore[misc]
    """An NPU whose KV somebody else moves."""

    @property
    def device_type(self) -> str:
        """torch's name of it."""
        return "npu"

    @property
    def backend_name(self) -> str:
        """The entry point's name; `lmcache_store` chooses it by LMCACHE_DEVICE_BACKEND."""
        return "ebb-npu"

    @property
    def torch_module_name(self) -> str:
        """torch.npu."""
        return "npu"

    @property
    def ops_cls(self) -> type[DeviceOps]:
        """See `_HostOps`."""
        return _HostOps

    @property
    def pin_memory_backend(self) -> type[PinMemoryBackend]:
        """aclrtHostRegister, from LMCache's own NPU platform."""
        backend: type[PinMemoryBackend] = NpuPinMemoryBackend
        return backend

    def is_available(self) -> bool:
        """Whether torch_npu is loaded and sees a device."""
        return hasattr(torch, "npu") and bool(torch.npu.is_available())
