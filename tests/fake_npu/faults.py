"""What the fake device refuses. Each is a mistake that real hardware answers with wrong numbers, seldom, or a crash.

DeviceError
├── HostAccessError      the host read or wrote the device's memory itself
├── UnpinnedMemoryError  a stream was given host memory that the device cannot reach
├── UseAfterFreeError    a copy ran over memory that was freed before it
└── MissingEventError    two streams touched the same bytes, and nothing orders them
"""


class DeviceError(Exception):
    """See the module."""


class HostAccessError(DeviceError):
    """See the module."""


class UnpinnedMemoryError(DeviceError):
    """See the module."""


class UseAfterFreeError(DeviceError):
    """See the module."""


class MissingEventError(DeviceError):
    """See the module."""
