"""The ranks of a tensor-parallel group on torch.distributed."""

import os
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

import psutil  # type: ignore[import-untyped]
import torch
from torch import distributed
from torch.distributed import FileStore, Store, TCPStore  # type: ignore[attr-defined]

from engine.api.errors import EngineError
from engine.process.listening_socket import listen_on
from models.interface.partition import Partition

BACKENDS: Final = MappingProxyType({"cpu": "gloo", "cuda": "nccl", "npu": "hccl"})
"""Backend of torch.distributed per device."""


@dataclass(frozen=True, slots=True)
class MeetingAddress:
    """Address of the store at which ranks on several machines find each other.

    own: address of the machine of this rank.
    """

    host: str
    port: int
    own: str = ""


def open_store(host: str, num_processes: int) -> tuple[Store, MeetingAddress]:
    """Open a store on the address `host` of this machine, and return it with its address.

    The store ends when nothing refers to it.

    Raise OSError.
    """
    listener = listen_on(host)
    address = MeetingAddress(host, listener.getsockname()[1])
    # The store takes the socket. With a socket that it opens it would listen on all interfaces.
    store = TCPStore(
        host,
        address.port,
        num_processes,
        is_master=True,
        wait_for_workers=False,
        master_listen_fd=listener.detach(),
    )
    return store, address


class TorchRanks:
    """RankGroup on torch.distributed: the ranks of one stage, with one process per rank, all on one machine."""

    def __init__(
        self,
        process: int,
        partition: Partition,
        device: str,
        meeting_place: Path | MeetingAddress,
        device_index: int = 0,
    ) -> None:
        """Join the group of all processes, and return once all have joined. Errors of torch.distributed propagate.

        process: number of this process in `partition`.
        meeting_place: a file that does not exist yet, in a directory that other users cannot write to. With stages on
        several machines, the address of a store on one of them.
        device_index: of the device of this rank, among those that the process sees.
        """
        stage, self.rank = partition.place(process)
        self.size = partition.ranks
        # On one machine bind to loopback: the group must not reach others, whatever this host's name resolves to.
        interface = "lo" if isinstance(meeting_place, Path) else _interface(meeting_place.own)
        for library in ("GLOO", *((BACKENDS[device].upper(),) if isinstance(meeting_place, MeetingAddress) else ())):
            os.environ[f"{library}_SOCKET_IFNAME"] = interface
        if device != "cpu":
            torch.accelerator.set_device_index(device_index)
        backend = BACKENDS[device]
        if partition.num_stages > 1 and device != "cpu":
            # Tokens travel between hosts, hidden states between devices.
            backend = f"cpu:gloo,{device}:{backend}"
        size = partition.num_processes
        if isinstance(meeting_place, Path):
            store: Store = FileStore(str(meeting_place), size)
        else:
            store = TCPStore(meeting_place.host, meeting_place.port, size, is_master=False)
        distributed.init_process_group(backend, store=store, rank=process, world_size=size)
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


def _interface(address: str) -> str:
    """Return the name of this machine's network interface with an address. Raise EngineError if there is none."""
    for name, addresses in psutil.net_if_addrs().items():
        if any(each.address == address for each in addresses):
            return str(name)
    raise EngineError(f"no network interface of this machine has the address {address}")
