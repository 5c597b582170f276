"""The ranks of a tensor-parallel group on torch.distributed."""

import os
from pathlib import Path
from types import MappingProxyType
from typing import Final

import torch
from torch import distributed
from torch._C._distributed_c10d import FileStore

from models.partition import Partition

BACKENDS: Final = MappingProxyType({"cpu": "gloo", "cuda": "nccl", "npu": "hccl"})
"""Backend of torch.distributed per device."""


class TorchRanks:
    """RankGroup on torch.distributed: the ranks of one stage, with one process per rank, all on this machine."""

    def __init__(self, process: int, partition: Partition, device: str, meeting_place: Path) -> None:
        """Join the group of all processes, and return once all have joined. Errors of torch.distributed propagate.

        process: number of this process in `partition`.
        meeting_place: a file that does not exist yet, in a directory that other users cannot write to.
        """
        stage, self.rank = partition.place(process)
        self.size = partition.ranks
        if device == "cpu":
            # Bind to loopback: the group must not reach other machines, whatever this host's name resolves to.
            os.environ["GLOO_SOCKET_IFNAME"] = "lo"
            self._device = torch.device("cpu")
        else:
            torch.accelerator.set_device_index(process)
            self._device = torch.device(device, process)
        backend = BACKENDS[device]
        if partition.num_stages > 1 and device != "cpu":
            # Tokens travel between hosts, hidden states between devices.
            backend = f"cpu:gloo,{device}:{backend}"
        store = FileStore(str(meeting_place), partition.num_processes)
        distributed.init_process_group(backend, store=store, rank=process, world_size=partition.num_processes)
        # Every process has to create the groups of all stages.
        firsts = range(0, partition.num_processes, partition.ranks)
        groups = [distributed.new_group(list(range(first, first + partition.ranks))) for first in firsts]
        self._group = groups[stage]
        self._first = firsts[stage]

    def sum(self, x: torch.Tensor) -> torch.Tensor:
        """See RankGroup."""
        if self.size > 1:
            distributed.all_reduce(x, group=self._group)
        return x

    def agree(self, token_ids: torch.Tensor) -> torch.Tensor:
        """See RankGroup."""
        if self.size > 1:
            distributed.broadcast(token_ids, src=self._first, group=self._group)
        return token_ids
