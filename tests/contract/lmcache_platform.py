"""LMCache's choice of a platform, repeated as if on another machine."""

# mypy: disable-error-code="import-untyped"

from importlib.metadata import EntryPoint
from types import ModuleType
from typing import Any

import pytest
import torch

# Imported first, because this module silences the warnings that importing LMCache emits.
import cache_tiers.cpu_store.open_store  # noqa: F401


def detected_spec(patch: pytest.MonkeyPatch, plugins: list[EntryPoint], backend: str) -> Any:
    """Return the device spec that LMCache chooses on a machine where torch has an NPU.

    plugins: the device plug-ins that are installed.
    backend: value of LMCACHE_DEVICE_BACKEND, "" for none.
    """
    from lmcache.v1.platform import _device_detect as detect

    npu = ModuleType("npu")
    patch.setattr(npu, "is_available", lambda: True, raising=False)
    patch.setattr(torch, "npu", npu, raising=False)
    patch.setattr(detect.importlib.metadata, "entry_points", lambda group: plugins)
    patch.setenv("LMCACHE_DEVICE_BACKEND", backend)
    for name in ("_build_backend_registry", "_build_device_registry"):
        patch.setattr(detect, name, getattr(detect, name).__wrapped__)
    return detect.current_device_spec.__wrapped__()
