"""LMCache's choice of a platform, made again as on another machine."""

# mypy: disable-error-code="import-untyped"

from importlib.metadata import EntryPoint
from types import ModuleType
from typing import Any

import pytest
import torch

# It knows what LMCache warns of while it is imported.
import cache_tiers.lmcache_store  # noqa: F401


def detected_spec(patch: pytest.MonkeyPatch, plugins: list[EntryPoint], backend: str) -> Any:
    """What LMCache takes where torch has an NPU, `plugins` are installed, and `backend` is named ("" for none)."""
    from lmcache.v1.platform import _device_detect as detect

    npu = ModuleType("npu")
    patch.setattr(npu, "is_available", lambda: True, raising=False)
    patch.setattr(torch, "npu", npu, raising=False)
    patch.setattr(detect.importlib.metadata, "entry_points", lambda group: plugins)
    patch.setenv("LMCACHE_DEVICE_BACKEND", backend)
    for name in ("_build_backend_registry", "_build_device_registry"):
        patch.setattr(detect, name, getattr(detect, name).__wrapped__)
    return detect.current_device_spec.__wrapped__()
