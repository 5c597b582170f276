"""Faults that the fake device detects. On real hardware each causes a crash or, rarely, wrong numbers.

DeviceError
├── HostAccessError      the host read or wrote device memory directly
├── UnpinnedMemoryError  a stream received host memory that the device cannot reach
├── UseAfterFreeError    a copy accessed memory that had been freed
└── MissingEventError    two streams accessed the same bytes without an order between them
"""


class DeviceError(Exception):
    """Base class of the faults."""


class HostAccessError(DeviceError):
    """A direct access of the host to device memory."""


class UnpinnedMemoryError(DeviceError):
    """A copy from or to host memory that is not pinned."""


class UseAfterFreeError(DeviceError):
    """A copy from or to memory that had been freed."""


class MissingEventError(DeviceError):
    """Accesses of two streams to the same bytes without an order between them."""
