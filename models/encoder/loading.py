"""Loading of an encoder from a model folder."""

import json
from collections.abc import Sequence
from typing import Final

import torch

from models.encoder.bert import BertNetwork
from models.encoder.config import EncoderConfig, read_encoder_config, window_of
from models.encoder.modern_bert import ModernBertNetwork
from models.errors import UnsupportedModelError
from models.interface.causal_lm import MatrixPacker
from models.weights.folder import ModelFolder
from models.weights.weights import load_weights

_PREFIXES: Final = ("bert.", "roberta.", "model.")
"""Beginnings of the names of the network's tensors in a folder that has a head above it."""

_OTHER_HEADS: Final = ("cls.", "lm_head.", "decoder.", "head.", "pooler.", "classifier.", "embeddings.position_ids")
"""Beginnings of the names of tensors that the final hidden states do not need."""


class LoadedEncoder:
    """Implementation of `models.interface.encoder.Encoder`."""

    def __init__(self, config: EncoderConfig, folder: ModelFolder, dtype: torch.dtype, device: torch.device) -> None:
        """Read the weights. Raise WeightsError for tensors that do not fit, ModelNotFoundError without files."""
        self.vocab_size = config.vocab_size
        self.hidden_size = config.hidden_size
        self.max_position_embeddings = window_of(folder, config)
        self.has_label = config.has_label
        # Tokenizers of RoBERTa give both texts of a pair the same kind, whatever the table has.
        has_kinds = config.family == "bert" and config.num_kinds > 1 and config.has_label
        self.separator = _separator(folder) if has_kinds else None
        self.kernels = f"torch-{torch.__version__}"
        kind = ModernBertNetwork if config.family == "modernbert" else BertNetwork
        self._network = kind(config, dtype, device)
        slots = self._network.slots()
        load_weights(
            folder.weight_files(),
            slots,
            lambda name: _plain(name).startswith(_OTHER_HEADS),
            slots_of=lambda name: (_plain(name),),
        )
        self.nbytes = sum(slot.nbytes for slot in slots.values())

    def forward(self, ids: torch.Tensor, kinds: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
        """See `models.interface.encoder.Encoder`."""
        return self._network.forward(ids, kinds, lengths)

    def label(self, hidden: torch.Tensor) -> torch.Tensor:
        """See `models.interface.encoder.Encoder`."""
        return self._network.label(hidden)

    def pack_matrices(self, packer: MatrixPacker) -> None:
        """See `models.interface.encoder.Encoder`."""
        for linear in self._network.linears():
            linear.pack(packer)
        self.kernels = packer.name


def load_encoder(folder: ModelFolder, dtype: torch.dtype, device: torch.device) -> LoadedEncoder:
    """Load the encoder in `folder`. Matrices and tables are converted to `dtype`, all else is float32.

    Raise UnsupportedModelError for a configuration that is not implemented, and as `LoadedEncoder`.
    """
    return LoadedEncoder(read_encoder_config(folder.config()), folder, dtype, device)


def _plain(name: str) -> str:
    """Return the name of a tensor without the prefix of the network."""
    prefix = next((each for each in _PREFIXES if name.startswith(each)), "")
    return name.removeprefix(prefix)


def _separator(folder: ModelFolder) -> int:
    """Return the id of the token between the two texts of a pair."""
    text = folder.token_text("sep_token") or "[SEP]"
    added = json.loads((folder.path / "tokenizer.json").read_bytes()).get("added_tokens", [])
    for token in added:
        if token.get("content") == text:
            return int(token["id"])
    raise UnsupportedModelError(f"tokenizer.json has no token {text}, which is to separate the texts of a pair")
