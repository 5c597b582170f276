"""Small random prompt adapters in the folder layout of PEFT, and what transformers alone computes for them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, DynamicCache

from models.registry import read_config
from models.weights.folder import ModelFolder

KINDS: Final = ("PROMPT_TUNING", "P_TUNING", "PREFIX_TUNING")


def make_prompt(
    path: Path, model: Path, kind: str, *, tokens: int = 20, size: float = 0.5, seed: int = 0, **settings: Any
) -> Path:
    """Write a prompt adapter of the model in the folder `model` to `path`, and return `path`.

    Equal arguments, equal bytes. kind: PEFT's name. size: typical size of a value. settings: further keys of
    adapter_config.json.
    """
    config = read_config(ModelFolder(model).config())
    width = config.hidden_size
    if kind == "PREFIX_TUNING":
        width = config.num_layers * 2 * config.num_kv_heads * config.head_dim
    path.mkdir(parents=True, exist_ok=True)
    rows = size * torch.randn(tokens, width, generator=torch.Generator().manual_seed(seed))
    save_file({"prompt_embeddings": rows}, path / "adapter_model.safetensors")
    written = {"peft_type": kind, "task_type": "CAUSAL_LM", "num_virtual_tokens": tokens}
    (path / "adapter_config.json").write_text(json.dumps({**written, "num_transformer_submodules": 1, **settings}))
    return path


class PromptOracle:
    """The network of transformers in float32, which is given the rows of prompt adapters."""

    def __init__(self, model: Path) -> None:
        self._network = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32, attn_implementation="eager")

    @torch.no_grad()
    def logits(self, ids: Sequence[int], adapter: Path | None = None) -> torch.Tensor:
        """Return the logits [T, vocab] of the tokens `ids` [T], behind the virtual tokens of an adapter."""
        text = torch.tensor(ids)[None]
        if adapter is None:
            return self._whole(input_ids=text)
        rows = load_file(adapter / "adapter_model.safetensors")["prompt_embeddings"]
        if json.loads((adapter / "adapter_config.json").read_text())["peft_type"] != "PREFIX_TUNING":
            embedded = torch.cat((rows[None], self._network.get_input_embeddings()(text)), dim=1)
            return self._whole(inputs_embeds=embedded)[len(rows) :]
        config = self._network.config
        kv = rows.view(len(rows), 2 * config.num_hidden_layers, config.num_key_value_heads, config.head_dim)
        cache = DynamicCache(config=config)
        for layer, (keys, values) in enumerate(kv.permute(1, 2, 0, 3)[:, None].split(2)):
            cache.update(keys, values, layer)
        places = torch.arange(len(rows), len(rows) + len(ids))[None]
        mask = torch.ones(1, len(rows) + len(ids), dtype=torch.int64)
        return self._whole(input_ids=text, past_key_values=cache, position_ids=places, attention_mask=mask)

    def _whole(self, **inputs: Any) -> torch.Tensor:
        logits: torch.Tensor = self._network(**inputs).logits[0].float()
        return logits
