"""The adapter_config.json of PEFT: the factor of each adapted matrix, and what is refused.

Source of the keys and of the formula: the documentation of PEFT's `LoraConfig`.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from models.errors import ModelNotFoundError, UnsupportedModelError
from models.weights.unreadable import why_unreadable

CONFIG_FILE: Final = "adapter_config.json"
TENSOR_FILE: Final = "adapter_model.safetensors"
MOST_PATTERNS: Final = 1024
"""Entries of `alpha_pattern`."""
LONGEST_PATTERN: Final = 256
LONGEST_INVOCATION: Final = 256
MOST_REPEATS: Final = 2
"""Repeats in a pattern, since the time of a match grows with the length of the name to their power."""

_REPEAT: Final = re.compile(r"[*+?{]")
_REPEATED_GROUP: Final = re.compile(r"\)[*+?{]")

_REFUSED: Final[Mapping[str, str]] = {
    "arrow_config": "routing between adapters is not supported",
    "bias": "biases cannot be adapted",
    "fan_in_fan_out": "transposed matrices are not supported",
    "kasa_config": "only plain LoRA is supported",
    "layer_replication": "layers cannot be replicated",
    "lora_bias": "biases cannot be adapted",
    "modules_to_save": "whole matrices cannot be replaced",
    "monteclora_config": "only plain LoRA is supported",
    "target_parameters": "experts cannot be adapted",
    "trainable_token_indices": "embeddings cannot be adapted",
    "use_bdlora": "only plain LoRA is supported",
    "use_dora": "only plain LoRA is supported",
    "use_qalora": "only plain LoRA is supported",
    "velora_config": "only plain LoRA is supported",
}
"""Reasons by the keys that must be absent, empty, false or "none"."""

_CHANGES_BASE: Final = ("pissa", "olora", "corda", "loftq", "lora_ga")
"""Beginnings of values of `init_lora_weights` that change the base model's matrices."""


@dataclass(frozen=True, slots=True)
class PeftConfig:
    """Settings of an adapter that its numbers depend on, next to its tensors.

    alpha: numerator of the factor.
    alphas: numerators of the matrices whose names match a pattern, in the order of the patterns.
    has_root: whether the rank's square root divides, instead of the rank (rsLoRA).
    invocation: as in `Adapter`.
    """

    alpha: float
    alphas: tuple[tuple[re.Pattern[str], float], ...]
    has_root: bool
    invocation: tuple[int, ...]

    def factor(self, module: str, rank: int) -> float:
        """Return the factor of what a matrix of `rank` adds to the product of `module`, the name of a projection."""
        alpha = next((alpha for pattern, alpha in self.alphas if pattern.fullmatch(module)), self.alpha)
        return alpha / (math.sqrt(rank) if self.has_root else rank)


def read_settings(folder: Path) -> dict[str, Any]:
    """Read adapter_config.json in `folder`. Raise ModelNotFoundError if the file is not a JSON object."""
    file = folder / CONFIG_FILE
    try:
        raw = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise ModelNotFoundError(why_unreadable(file, error)) from error
    if not isinstance(raw, dict):
        raise ModelNotFoundError(f"{file} does not contain a JSON object")
    return raw


def read_peft_config(folder: Path) -> PeftConfig:
    """Read the configuration of the adapter in `folder`.

    Raise ModelNotFoundError if the file is not a JSON object, UnsupportedModelError with the key for an adapter that is
    not plain LoRA.
    """
    raw, file = read_settings(folder), folder / CONFIG_FILE
    kind = raw.get("peft_type")
    if kind != "LORA":
        raise UnsupportedModelError(
            f"{file}: peft_type {kind!r} is not supported, only 'LORA', 'PROMPT_TUNING', 'P_TUNING' and 'PREFIX_TUNING'"
        )
    for key, reason in _REFUSED.items():
        if raw.get(key) not in (None, False, "none", [], {}):
            raise UnsupportedModelError(f"{file}: {key} {_short(raw[key])} is not supported: {reason}")
    initial = raw.get("init_lora_weights")
    if isinstance(initial, str) and initial.lower().startswith(_CHANGES_BASE):
        raise UnsupportedModelError(
            f"{file}: init_lora_weights {initial!r} changes the base model. Save the adapter again with PEFT's "
            "path_initial_model_for_weight_conversion"
        )
    patterns = raw.get("alpha_pattern") or {}
    if not isinstance(patterns, dict) or len(patterns) > MOST_PATTERNS:
        raise UnsupportedModelError(f"{file}: alpha_pattern is not an object of at most {MOST_PATTERNS} entries")
    return PeftConfig(
        alpha=_number(file, "lora_alpha", raw.get("lora_alpha")),
        alphas=tuple((_pattern(file, key), _number(file, "alpha_pattern", value)) for key, value in patterns.items()),
        has_root=raw.get("use_rslora") is True,
        invocation=_invocation(file, raw.get("alora_invocation_tokens")),
    )


def _invocation(file: Path, value: Any) -> tuple[int, ...]:
    ids = [] if value is None else value
    is_list = isinstance(ids, list) and len(ids) <= LONGEST_INVOCATION
    if not is_list or not all(type(id_) is int and id_ >= 0 for id_ in ids):
        raise UnsupportedModelError(
            f"{file}: alora_invocation_tokens {_short(value)} is not a list of at most {LONGEST_INVOCATION} token ids"
        )
    return tuple(ids)


def _number(file: Path, key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UnsupportedModelError(f"{file}: {key} {_short(value)} is not a number")
    return float(value)


def _pattern(file: Path, pattern: str) -> re.Pattern[str]:
    """Compile a pattern, which matches whole names or ends of names behind a dot."""
    is_cheap = len(_REPEAT.findall(pattern)) <= MOST_REPEATS and not _REPEATED_GROUP.search(pattern)
    if is_cheap and len(pattern) <= LONGEST_PATTERN:
        try:
            return re.compile(rf"(?:.*\.)?(?:{pattern})")
        except (re.error, RecursionError, OverflowError):
            pass
    raise UnsupportedModelError(
        f"{file}: alpha_pattern {_short(pattern)} is not a regular expression of at most {LONGEST_PATTERN} characters "
        f"and {MOST_REPEATS} repeats"
    )


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."
