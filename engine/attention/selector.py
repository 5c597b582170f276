"""Selection of an attention backend."""

from dataclasses import dataclass
from importlib import import_module
from typing import cast

from engine.api.errors import EngineError
from engine.attention.backend import AttentionBackend, AttentionSpec
from engine.attention.backends import BACKENDS


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen backend.

    passed_over: (name, reason) of each preferred backend that was rejected.
    """

    name: str
    backend: type[AttentionBackend]
    passed_over: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        """Format like `torch (placeholder: only for models without attention; npu: does not run on cpu)`."""
        reasons = "; ".join(f"{name}: {reason}" for name, reason in self.passed_over)
        return f"{self.name} ({reasons})" if reasons else self.name


def load_backend(name: str) -> type[AttentionBackend]:
    """Import the backend `name`. Raise EngineError if `BACKENDS` does not list it."""
    if name not in BACKENDS:
        raise EngineError(f"there is no attention backend {name!r}; choose one of {', '.join(BACKENDS)}")
    module, _, attribute = BACKENDS[name].partition(":")
    return cast(type[AttentionBackend], getattr(import_module(module), attribute))


def select_backend(spec: AttentionSpec, wanted: str = "auto") -> Selection:
    """Select the first backend that supports `spec`, or check the one named `wanted`.

    Raise EngineError with the reasons if no backend, or not the wanted one, supports `spec`.
    """
    passed_over: list[tuple[str, str]] = []
    for name in BACKENDS if wanted == "auto" else (wanted,):
        backend = load_backend(name)
        reason = backend.support.unsupported_reason(spec)
        if reason is None:
            return Selection(name, backend, tuple(passed_over))
        passed_over.append((name, reason))
    reasons = "; ".join(f"{name}: {reason}" for name, reason in passed_over)
    raise EngineError(f"no attention backend fits: {reasons}" if wanted == "auto" else f"--attention {reasons}")
