"""Picks an attention backend. Backends are named by import strings, so that only the chosen one is imported."""

from importlib import import_module
from types import MappingProxyType
from typing import Final, cast

from engine.attention.backend import AttentionBackend, AttentionSpec
from engine.errors import EngineError

BACKENDS: Final = MappingProxyType(
    {
        "cpu": "engine.attention.cpu:CpuAttention",
        "reference": "engine.attention.reference:ReferenceAttention",
    }
)
"""In order of preference."""


def load_backend(name: str) -> type[AttentionBackend]:
    """Import one backend; raises EngineError for a name that is not in the table."""
    if name not in BACKENDS:
        raise EngineError(f"no attention backend is called {name!r}; there are {', '.join(BACKENDS)}")
    module, _, attribute = BACKENDS[name].partition(":")
    return cast(type[AttentionBackend], getattr(import_module(module), attribute))


def select_backend(spec: AttentionSpec) -> type[AttentionBackend]:
    """The first backend that serves `spec`; raises EngineError with every backend's reason if there is none."""
    reasons: list[str] = []
    for name in BACKENDS:
        backend = load_backend(name)
        reason = backend.unsupported_reason(spec)
        if reason is None:
            return backend
        reasons.append(reason)
    raise EngineError("no attention backend fits: " + "; ".join(reasons))
