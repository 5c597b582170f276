"""Picks an attention backend. Backends are named by import strings, so that only those that are asked are imported."""

from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Final, cast

from engine.attention.backend import AttentionBackend, AttentionSpec
from engine.errors import EngineError

BACKENDS: Final = MappingProxyType(
    {
        "placeholder": "engine.attention.placeholder:PlaceholderAttention",
        "npu": "engine.attention.npu:NpuAttention",
        "cuda": "engine.attention.cuda:CudaAttention",
        "torch": "engine.attention.gathered:GatheredAttention",
        "reference": "engine.attention.reference:ReferenceAttention",
    }
)
"""In order of preference."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen backend, and why those that would have been preferred were not: (name, reason)."""

    name: str
    backend: type[AttentionBackend]
    passed_over: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        """`torch (placeholder: only for models without attention; npu: does not run on cpu)`."""
        reasons = "; ".join(f"{name}: {reason}" for name, reason in self.passed_over)
        return f"{self.name} ({reasons})" if reasons else self.name


def load_backend(name: str) -> type[AttentionBackend]:
    """Import one backend; raises EngineError for a name that is not in the table."""
    if name not in BACKENDS:
        raise EngineError(f"no attention backend is called {name!r}; there are {', '.join(BACKENDS)}")
    module, _, attribute = BACKENDS[name].partition(":")
    return cast(type[AttentionBackend], getattr(import_module(module), attribute))


def select_backend(spec: AttentionSpec, wanted: str = "auto") -> Selection:
    """The first backend that serves `spec`, or the `wanted` one. Raises EngineError, with the reasons, if there is none
    or the wanted one cannot."""
    passed_over: list[tuple[str, str]] = []
    for name in BACKENDS if wanted == "auto" else (wanted,):
        backend = load_backend(name)
        reason = backend.support.unsupported_reason(spec)
        if reason is None:
            return Selection(name, backend, tuple(passed_over))
        passed_over.append((name, reason))
    reasons = "; ".join(f"{name}: {reason}" for name, reason in passed_over)
    raise EngineError(f"no attention backend fits: {reasons}" if wanted == "auto" else f"--attention {reasons}")
