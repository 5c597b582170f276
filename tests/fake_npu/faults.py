"""What the fake device refuses. Each is a mistake that real hardware answers with wrong numbers, seldom, or a crash.

DeviceFault
├── HostAccessFault      the host read or wrote the device's memory itself
├── UnpinnedMemoryFault  a stream was given host memory that the device cannot reach
├── UseAfterFreeFault    a copy ran over memory that was freed before it
└── MissingEventFault    two streams touched the same bytes, and nothing orders them
"""


class DeviceFault(Exception):
    """See the module."""


class HostAccessFault(DeviceFault):
    """See the module."""


class UnpinnedMemoryFault(DeviceFault):
    """See the module."""


class UseAfterFreeFault(DeviceFault):
    """See the module."""


class MissingEventFault(DeviceFault):
    """See the module."""
