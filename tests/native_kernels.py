"""Compiled kernels for tests, and `--cpu-kernels`: a narrower CPU than this one. A pytest plugin."""

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
    # Servers that tests start are processes of their own.
    patch.setenv("EBB_CPU_KERNELS", best)


@pytest.fixture(scope="session")
def kernels() -> "Callable[[str], Kernels]":
    """Kernels by the name of an instruction set, compiled again only when their sources changed; by one process."""
    # The unit tests share the plugins and do without torch.
    from engine.cpu.build import build_kernels
    from engine.cpu.instruction_set import choose_instruction_set
    from engine.cpu.library import Kernels
    from models.staging import exclusive
    from tests.conftest import default_cache_dir

    def build(name: str) -> Kernels:
        folder = default_cache_dir()
        with exclusive(folder / "kernels", print):
            return Kernels(build_kernels(choose_instruction_set(name), folder, print))

    return build
