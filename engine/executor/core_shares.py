"""Division of the machine's CPUs among replicas."""

from collections.abc import Callable, Iterable
from itertools import pairwise

from engine.worker.host_resources import siblings_of


def core_shares(cpus: Iterable[int], count: int, core_of: Callable[[int], str] = siblings_of) -> list[tuple[int, ...]]:
    """Divide `cpus` into `count` shares of whole physical cores, as equal and as close together as possible.

    With fewer cores than shares, several replicas share a core.

    core_of: returns the name of the physical core of a CPU.
    """
    cores: dict[str, list[int]] = {}
    for cpu in sorted(cpus):
        cores.setdefault(core_of(cpu), []).append(cpu)
    groups = list(cores.values())
    if len(groups) < count:
        return [tuple(groups[index % len(groups)]) for index in range(count)]
    edges = [len(groups) * index // count for index in range(count + 1)]
    return [tuple(sorted(cpu for group in groups[first:last] for cpu in group)) for first, last in pairwise(edges)]
