"""JSON of an answer's sampling parameters, as its message stores them and clients see them."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from engine.api.sampling_params import SamplingParams
from engine.api.structured_output import StructuredOutput

ALWAYS: Final = frozenset({"temperature", "top_p", "top_k", "seed", "max_tokens", "min_tokens", "stop", "ignore_eos"})
"""Parameters that are always included. Others are left out at their default."""
RESOLVED: Final = frozenset({"bad_word_ids", "eos_token_ids"})
"""Parameters that the engine derives from the others and the model."""

UNTIL_THE_END: Final = frozenset({"call_form", "call_openings"})
"""Parameters that are stored for as long as the answer may have to be resumed. They repeat the tools of the request."""

_DEFAULTS: Final = SamplingParams()
_NAMES: Final = tuple(field.name for field in fields(SamplingParams) if field.name not in RESOLVED)


def params_to_json(params: SamplingParams) -> dict[str, Any]:
    """Serialize the parameters that the engine resolved."""
    values = {name: getattr(params, name) for name in _NAMES}
    return {
        name: _as_json(value) for name, value in values.items() if name in ALWAYS or value != getattr(_DEFAULTS, name)
    }


def params_from_json(stored: dict[str, Any]) -> SamplingParams:
    """Parse serialized parameters. Other keys are ignored."""
    return SamplingParams(**{name: _from_json(stored[name]) for name in _NAMES if name in stored})


def params_of_ended(stored: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the serialized parameters that an answer keeps when it has ended."""
    return stored and {name: value for name, value in stored.items() if name not in UNTIL_THE_END}


def without_sampling(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the serialized parameters that are not the engine's, such as the thinking mode."""
    return {name: value for name, value in stored.items() if name not in _NAMES}


def _as_json(value: object) -> object:
    if isinstance(value, StructuredOutput):
        return {"kind": value.kind, "text": value.text}
    return [_as_json(each) for each in value] if isinstance(value, tuple) else value


def _from_json(value: object) -> Any:
    if isinstance(value, dict):
        return StructuredOutput(**value)
    return tuple(_from_json(each) for each in value) if isinstance(value, list) else value
