"""The ranks of a tensor-parallel group on torch.distributed."""

import os
from pathlib import Path
from types import MappingProxyType
from typing import Final

import torch
from torch import distributed
from torch._C._distributed_c10d import FileStore

BACKENDS: Final = MappingProxyType({"cpu": "gloo", "cuda": "nccl", "npu": "hccl"})
"""By device."""


class TorchRanks:
    """Implements RankGroup in a process of its own per rank, all on this machine."""

    def __init__(self, rank: int, size: int, device: str, meeting_place: Path) -> None:
        """meeting_place: a file that does not exist yet, in a directory that others cannot write to. Returns once all
        ranks have come; raises what torch.distributed raises."""
        self.rank = rank
        self.size = size
        if device == "cpu":
            # Nobody outside this machine is to be talked to, whatever its name resolves to.
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

    def agree(self, token_ids: list[int]) -> list[int]:
        """See RankGroup."""
        tokens = torch.tensor(token_ids, device=self._device)
        distributed.broadcast(tokens, src=0)
        agreed: list[int] = tokens.tolist()
        return agreed
