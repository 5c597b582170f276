"""Compiled kernels for tests. A pytest plugin."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from engine.cpu.library import Kernels


@pytest.fixture(scope="session")
def kernels(pytestconfig: pytest.Config) -> "Callable[[str], Kernels]":
    """Kernels by the name of an instruction set, compiled again only after their sources changed."""
    # The unit tests share the plugins and do without torch.
    from engine.cpu.build import build_kernels
    from engine.cpu.instruction_set import choose_instruction_set
    from engine.cpu.library import Kernels

    folder = pytestconfig.cache.mkdir("native")
    return lambda name: Kernels(build_kernels(choose_instruction_set(name), folder, lambda _: None))
