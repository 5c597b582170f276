"""Proof that a converted folder is a working model, before the folder is used."""

from pathlib import Path

import torch

from models.chat.format import ChatFormat, Message
from models.decoder.model import DecoderForCausalLM
from models.download.wheel_source import KnownAnswers
from models.encoder.loading import load_encoder
from models.errors import ConversionError, ModelError
from models.interface.causal_lm import CausalLM
from models.interface.dense_context import DenseContext
from models.registry import load_model
from models.tokenizers.text_tokenizer import load_tokenizer
from models.weights.folder import ModelFolder

SAMPLE = "Zwölf 12,345 naïve  tabs\t\n\n日本語 🙂 don't"


def check_conversion(folder: Path, known: KnownAnswers | None) -> None:
    """Load everything in `folder` and compare it with the known answers. Raise ConversionError for a difference.

    Without known answers: tensors fit, a sample text survives the tokenizer, and the logits are finite. If matrices
    are in blocks: their weights are finite. They are not unpacked, because all of them may exceed memory.
    """
    try:
        tokenizer = load_tokenizer(folder)
        chat_format = ChatFormat.load(folder, tokenizer)
        model = load_model(folder, torch.bfloat16, torch.device("cpu"), keep_packed=known is None)
    except ModelError as error:
        raise ConversionError(f"the converted model does not load: {error}") from error
    _require(
        tokenizer.decode(tokenizer.encode(SAMPLE, special=False)) == SAMPLE, "the tokenizer does not reproduce its text"
    )
    if known is None and isinstance(model, DecoderForCausalLM) and model.packed:
        for name, packed in model.packed.items():
            _require(packed.is_finite(), f"weights of {name} are not finite")
        return
    if known is None:
        ids = tokenizer.encode(SAMPLE, special=False)
        _require(
            bool(_log_probabilities(model, ids).isfinite().all()),
            "the model computes probabilities that are not finite",
        )
        return
    for text, expected in known.ids:
        _require(
            tokenizer.encode(text, special=False) == list(expected), f"the tokenizer returns wrong ids for {text!r}"
        )
    prompt = chat_format.render([Message("user", known.question)])
    _require(prompt == list(known.question_ids), "the chat template renders a wrong prompt")
    answer = tokenizer.encode(known.answer, special=False)
    rows = _log_probabilities(model, prompt + answer)[len(prompt) - 1 : -1]
    mean = float(rows.gather(1, torch.tensor(answer).unsqueeze(1)).mean())
    _require(
        mean >= known.least_log_probability,  # False for NaN too
        f"the model finds {known.answer!r} unlikely (mean log-probability {mean:.2f})",
    )


def check_encoder(folder: Path) -> None:
    """Load everything in the folder of an encoder. Raise ConversionError unless its hidden states are finite."""
    try:
        ids = load_tokenizer(folder).encode_prompt(SAMPLE)
        encoder = load_encoder(ModelFolder(folder), torch.float32, torch.device("cpu"))
    except ModelError as error:
        raise ConversionError(f"the model does not load: {error}") from error
    kinds = torch.zeros(len(ids), dtype=torch.int64)
    with torch.inference_mode():
        hidden = encoder.forward(torch.tensor(ids), kinds, [len(ids)])
    _require(bool(hidden.isfinite().all()), "the model computes hidden states that are not finite")


def _log_probabilities(model: CausalLM, ids: list[int]) -> torch.Tensor:
    hidden = model.forward(torch.tensor(ids), torch.arange(len(ids)), DenseContext(model.attention))
    return model.compute_logits(hidden).log_softmax(-1)


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise ConversionError(f"the conversion failed its check: {problem}")
