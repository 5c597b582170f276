"""Tests of the GPU kernels in Triton's interpreter on the CPU, run separately with `make test-kernels`."""

# mypy: disable-error-code="import-not-found,import-untyped"

import os

# triton reads the variable when it is imported.
os.environ["TRITON_INTERPRET"] = "1"

from collections.abc import Iterator
from typing import Any

import pytest
import torch
import triton.language as tl
from triton.runtime.interpreter import InterpreterBuilder


@pytest.fixture(autouse=True, scope="session")
def products_of_bfloat16() -> Iterator[None]:
    """Cast bfloat16 operands to float32. The interpreter stores bfloat16 as integers and would multiply these."""
    multiply = InterpreterBuilder.create_dot

    def create_dot(builder: Any, a: Any, b: Any, *rest: Any) -> Any:
        if a.dtype.scalar == tl.bfloat16:
            a, b = builder.cast_impl(a, tl.float32), builder.cast_impl(b, tl.float32)
        return multiply(builder, a, b, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InterpreterBuilder, "create_dot", create_dot)
        yield


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Use one thread: with small tensors, more threads would only wait for each other."""
    torch.set_num_threads(1)
