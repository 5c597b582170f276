"""Division of one model among processes: layers among stages, and the heads of a stage's layers among its ranks."""

from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class Stage:
    """Consecutive layers of a model, which compute one after another.

    layers: indices in the whole model.
    is_first: whether the embedding belongs to the stage.
    is_last: whether the final norm and the output matrix belong to the stage.
    """

    layers: range
    is_first: bool
    is_last: bool


@dataclass(frozen=True, slots=True)
class Partition:
    """Processes that share one model. Process p is rank p % `ranks` of stage p // `ranks`.

    ranks: number of processes of each stage, which divide its heads and its MLPs.
    layers: number of layers of each stage; empty if a single stage has them all.
    """

    ranks: int = 1
    layers: tuple[int, ...] = ()

    @property
    def num_stages(self) -> int:
        """Number of stages."""
        return max(1, len(self.layers))

    @property
    def num_processes(self) -> int:
        """Number of processes of all stages."""
        return self.num_stages * self.ranks

    @property
    def sampler(self) -> int:
        """The process that samples tokens: the first one of the last stage."""
        return self.num_processes - self.ranks

    def place(self, process: int) -> tuple[int, int]:
        """Return the stage of a process, and the process's rank in that stage."""
        return divmod(process, self.ranks)

    def stage(self, index: int) -> Stage | None:
        """Return the layers of one stage; None if a single stage has them all."""
        if not self.layers:
            return None
        ends = list(accumulate(self.layers))
        first = ends[index] - self.layers[index]
        return Stage(range(first, ends[index]), index == 0, index == len(ends) - 1)


def whole(num_layers: int) -> Stage:
    """Return the stage that has all layers of a model."""
    return Stage(range(num_layers), is_first=True, is_last=True)


UNDIVIDED = Partition()
"""The partition of a model that one process has."""
