"""Logits of a model folder, by the shared decoder and by transformers."""

from pathlib import Path

import torch
from transformers import AutoModelForCausalLM

from models.decoder.model import DecoderForCausalLM
from models.interface.dense_context import DenseContext
from models.registry import load_model


@torch.inference_mode()
def our_logits(folder: Path, ids: torch.Tensor, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Compute the logits [T, vocab] of `ids` [T] with the shared decoder."""
    model = load_model(folder, dtype, torch.device("cpu"))
    assert isinstance(model, DecoderForCausalLM)
    return model.compute_logits(model.forward(ids, torch.arange(len(ids)), DenseContext(model.attention)))


@torch.inference_mode()
def their_logits(folder: Path, ids: torch.Tensor, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Compute the logits [T, vocab] of `ids` [T] with the class that transformers chooses."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, attn_implementation="eager")
    logits: torch.Tensor = model(ids[None]).logits[0].float()
    return logits
