"""Pytest plugin: compiled kernels, and `--cpu-kernels` to test as on a CPU with fewer instruction sets."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from engine.cpu.library import Kernels


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cpu-kernels", default="auto", help="the best instructions that this CPU is taken to have")


def pytest_configure(config: pytest.Config) -> None:
    best = config.getoption("--cpu-kernels")
    if best == "auto":
        return
    from engine.cpu import instruction_set

    names = [each.name for each in instruction_set.INSTRUCTION_SETS]
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    patch.setattr(instruction_set, "INSTRUCTION_SETS", instruction_set.INSTRUCTION_SETS[names.index(best) :])
    # Servers that tests start are separate processes, which the patch does not reach.
    patch.setenv("EBB_CPU_KERNELS", best)


@pytest.fixture(scope="session")
def kernels() -> "Callable[[str], Kernels]":
    """Return a function from the name of an instruction set to its kernels.

    Kernels are compiled again only when their sources have changed, and by one process at a time.
    """
    # Unit tests load this plugin too and must not import torch.
    from engine.cpu.build import build_kernels
    from engine.cpu.instruction_set import choose_instruction_set
    from engine.cpu.library import Kernels
    from models.download.staging import exclusive
    from tests.conftest import default_cache_dir

    def build(name: str) -> Kernels:
        folder = default_cache_dir()
        with exclusive(folder / "kernels", print):
            return Kernels(build_kernels(choose_instruction_set(name), folder, print))

    return build
