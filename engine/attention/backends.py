"""Names of the attention backends. Imports no tensor library, so that settings can be checked without one."""

from types import MappingProxyType
from typing import Final

WITHOUT_ATTENTION: Final = "placeholder"
"""Backend of models without attention."""

BACKENDS: Final = MappingProxyType(
    {
        WITHOUT_ATTENTION: "engine.attention.placeholder:PlaceholderAttention",
        "npu": "engine.attention.npu:NpuAttention",
        "cuda": "engine.attention.cuda:CudaAttention",
        "torch": "engine.attention.gathered:GatheredAttention",
        "reference": "engine.attention.reference:ReferenceAttention",
    }
)
"""Import string of each backend, in order of preference. A backend is imported only when it is tried."""

CHOICES: Final = tuple(name for name in BACKENDS if name != WITHOUT_ATTENTION)
"""Backends that a user can choose."""

PLAIN: Final = ("torch", "reference")
"""Backends of plain torch."""
