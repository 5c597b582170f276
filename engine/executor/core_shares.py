"""Division of the machine's CPUs among replicas."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

from engine.worker.host_resources import siblings_of


@dataclass(frozen=True, slots=True)
class CoreShare:
    """The part of a machine's CPUs that a replica computes on.

    sharers: number of replicas that compute on these CPUs, including this one.
    """

    cpus: tuple[int, ...] = ()
    sharers: int = 1


def core_shares(cpus: Iterable[int], count: int, core_of: Callable[[int], str] = siblings_of) -> list[CoreShare]:
    """Divide `cpus` into `count` shares of whole physical cores, as equal and as close together as possible.

    With fewer cores than shares, all replicas share all cores. Then the cores of a replica that waits, or that was
    lost, serve the others.

    core_of: returns the name of the physical core of a CPU.
    """
    ordered = sorted(cpus)
    cores: dict[str, list[int]] = {}
    for cpu in ordered:
        cores.setdefault(core_of(cpu), []).append(cpu)
    groups = list(cores.values())
    if len(groups) < count:
        return [CoreShare(tuple(ordered), count)] * count
    edges = [len(groups) * index // count for index in range(count + 1)]
    return [
        CoreShare(tuple(sorted(cpu for group in groups[first:last] for cpu in group)))
        for first, last in pairwise(edges)
    ]
