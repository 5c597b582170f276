"""Small arrays of the host, copied to a device."""

import numpy as np
import numpy.typing as npt
import torch


def upload(values: npt.NDArray[np.generic], device: torch.device) -> torch.Tensor:
    """Copy `values` to `device`, in order with the work queued there. The host does not wait for that work.

    The array may be shared with the result on a CPU, so it must not change afterwards.
    """
    tensor = torch.from_numpy(values)
    if device.type != "cpu":
        # Only a copy from pinned memory does not wait.
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)
