"""`python -m engine.device_check` on a machine whose NPU is the fake one."""

import pytest

from engine.device_check.__main__ import main
from tests.contract.npu_operators import NpuOperators
from tests.fake_npu.device import FakeNpu


def check() -> int:
    """Run the check, and return its exit status."""
    operators, device = NpuOperators(), FakeNpu()
    operators.watchers.append(device.fake.computed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.device_check.__main__.open_device", lambda _: device)
        return main()


if __name__ == "__main__":
    raise SystemExit(check())
