"""The state of a model, as lists of models show it to clients."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from app.host.served_model import ModelState, ServedModel

STATUS: Final[Mapping[ModelState, str]] = MappingProxyType(
    {"unloaded": "unloaded", "loading": "loading", "loaded": "loaded", "draining": "unloaded", "failed": "unloaded"}
)
"""llama.cpp's names. A request for a model that is drained waits, as for one that is unloaded."""


def model_status(model: ServedModel | None) -> dict[str, Any]:
    """Return the state of a model; None stands for the only one, which is in memory."""
    if model is None:
        return {"value": "loaded"}
    status: dict[str, Any] = {"value": STATUS[model.state], "state": model.state}
    if model.progress:
        status["progress"] = model.progress
    if model.state == "failed":
        status["failed"] = True
    return status
