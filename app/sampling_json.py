"""The sampling parameters of an answer, as its message keeps them and clients see them."""

from typing import Any

from engine.sampling_params import SamplingParams

FIELDS = ("temperature", "top_p", "top_k", "seed", "max_tokens", "min_tokens", "stop", "ignore_eos")


def params_to_json(params: SamplingParams) -> dict[str, Any]:
    """What the engine really uses."""
    return {name: list(value) if isinstance(value := getattr(params, name), tuple) else value for name in FIELDS}


def params_from_json(stored: dict[str, Any]) -> SamplingParams:
    """The same again. The stop tokens are the model's, and follow from it."""
    known = {name: stored[name] for name in FIELDS}
    return SamplingParams(**{**known, "stop": tuple(stored["stop"])})
