"""Prompt adapters in PEFT's format: prompt tuning, P-tuning and prefix tuning.

PEFT saves what its encoder of P-tuning and its projection of prefix tuning yield, so the files of all three kinds have
one tensor. Source of the keys and of the shapes: PEFT's `PromptLearningConfig` and `get_prompt`.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import safetensors.torch
import torch
from safetensors import SafetensorError

from models.adapters.peft_config import CONFIG_FILE, TENSOR_FILE, read_settings
from models.errors import ModelNotFoundError, UnsupportedModelError, WeightsError
from models.weights.unreadable import why_unreadable

MOST_VIRTUAL_TOKENS: Final = 512

_GIVES_KV: Final[Mapping[str, bool]] = {"PROMPT_TUNING": False, "P_TUNING": False, "PREFIX_TUNING": True}
"""Whether a kind of adapter gives K and V of its virtual tokens, by PEFT's name of the kind."""
_TENSOR: Final = "prompt_embeddings"
_DTYPES: Final = (torch.float32, torch.float16, torch.bfloat16)


@dataclass(frozen=True, slots=True)
class StoredPrompt:
    """A prompt adapter as its files have it.

    name: name of its folder.
    digest: as in `Adapter`.
    rows: embeddings of the virtual tokens [tokens, hidden], or their K and V [tokens, layers * 2 * kv_heads * width of
        a head].
    gives_kv: whether `rows` are K and V.
    """

    name: str
    digest: str
    rows: torch.Tensor
    gives_kv: bool


def is_prompt(folder: Path) -> bool:
    """Return whether the adapter in `folder` is a prompt adapter. Raise ModelNotFoundError as `read_settings` does."""
    return read_settings(folder).get("peft_type") in _GIVES_KV


def read_prompt(path: Path) -> StoredPrompt:
    """Read the prompt adapter in the folder `path`.

    Raise ModelNotFoundError for a missing file, UnsupportedModelError with the key for what cannot be computed,
    WeightsError for tensors other than one matrix with a row per virtual token.
    """
    settings, file = read_settings(path), path / CONFIG_FILE
    gives_kv, count = _GIVES_KV[settings["peft_type"]], settings.get("num_virtual_tokens")
    if type(count) is not int or not 0 < count <= MOST_VIRTUAL_TOKENS:
        raise UnsupportedModelError(
            f"{file}: num_virtual_tokens {count!r} is not a number from 1 to {MOST_VIRTUAL_TOKENS}"
        )
    if settings.get("num_transformer_submodules") not in (None, 1):
        raise UnsupportedModelError(
            f"{file}: num_transformer_submodules {settings['num_transformer_submodules']!r} is not supported: the "
            "adapter is for an encoder and a decoder"
        )
    if settings.get("modules_to_save"):
        raise UnsupportedModelError(f"{file}: modules_to_save is not supported: whole matrices cannot be replaced")
    rows = _only_tensor(path / TENSOR_FILE)
    if rows.dim() != 2 or rows.dtype not in _DTYPES or len(rows) != count:
        raise WeightsError(
            f"{path / TENSOR_FILE}: the tensor {_TENSOR} is {rows.dtype} {list(rows.shape)}, "
            f"not a matrix of {count} rows"
        )
    return StoredPrompt(path.name, _digest(rows, settings), rows, gives_kv)


def _only_tensor(file: Path) -> torch.Tensor:
    try:
        tensors = safetensors.torch.load(file.read_bytes())
    except FileNotFoundError:
        raise ModelNotFoundError(
            f"{file.parent} has no {TENSOR_FILE}; other formats of adapters are not read"
        ) from None
    except (OSError, ValueError, SafetensorError) as error:
        raise WeightsError(why_unreadable(file, error)) from error
    if set(tensors) != {_TENSOR}:
        raise WeightsError(f"{file} has the tensors {', '.join(sorted(tensors)) or 'none'}, not {_TENSOR} alone")
    return tensors[_TENSOR]


def _digest(rows: torch.Tensor, settings: Mapping[str, Any]) -> str:
    about = [_GIVES_KV[settings["peft_type"]], str(rows.dtype), list(rows.shape)]
    digest = hashlib.sha256(b"ebb-prompt-adapter" + json.dumps(about).encode() + b"\0")
    digest.update(rows.contiguous().flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()
