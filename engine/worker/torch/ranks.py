"""The ranks of a tensor-parallel group on torch.distributed."""

import os
from pathlib import Path
from types import MappingProxyType
from typing import Final

import torch
from torch import distributed
from torch._C._distributed_c10d import FileStore

BACKENDS: Final = MappingProxyType({"cpu": "gloo", "cuda": "nccl", "npu": "hccl"})
"""Backend of torch.distributed per device."""


class TorchRanks:
    """RankGroup on torch.distributed, with one process per rank, all on this machine."""

    def __init__(self, rank: int, size: int, device: str, meeting_place: Path) -> None:
        """Join the group, and return once all ranks have joined. Errors of torch.distributed propagate.

        meeting_place: a file that does not exist yet, in a directory that other users cannot write to.
        """
        self.rank = rank
        self.size = size
        if device == "cpu":
            # Bind to loopback: the group must not reach other machines, whatever this host's name resolves to.
            os.environ["GLOO_SOCKET_IFNAME"] = "lo"
            self._device = torch.device("cpu")
        else:
            torch.accelerator.set_device_index(rank)
            self._device = torch.device(device, rank)
        store = FileStore(str(meeting_place), size)
        distributed.init_process_group(BACKENDS[device], store=store, rank=rank, world_size=size)

    def sum(self, x: torch.Tensor) -> torch.Tensor:
        """See RankGroup."""
        distributed.all_reduce(x)
        return x

    def agree(self, token_ids: torch.Tensor) -> torch.Tensor:
        """See RankGroup."""
        distributed.broadcast(token_ids, src=0)
        return token_ids
