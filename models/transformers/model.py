"""CausalLM over transformers: loading, the forward pass, and logits by the network's own code."""

import logging
from dataclasses import dataclass
from typing import Final

import torch
import transformers
from transformers import PreTrainedModel
from transformers.modeling_outputs import MoeModelOutputWithPast

from models.errors import UnsupportedModelError
from models.interface.causal_lm import ForwardContext, MatrixPacker
from models.interface.parallel import SINGLE_RANK, RankGroup
from models.transformers.attention_bridge import BRIDGED, EAGER, ContextPass, receiving, use_attention
from models.transformers.matrices import pack_network
from models.transformers.probe import probe
from models.transformers.quantized import quantizer_name
from models.transformers.refusals import network_class, read_config
from models.transformers.rope import pin_rope
from models.transformers.self_check import check_network
from models.transformers.tensor_parallel import check_plan, keep_part
from models.transformers.tested import TESTED
from models.transformers.transformers_parts import make_network, with_part
from models.transformers.weights import load_weights
from models.weights.folder import ModelFolder
from models.weights.stored import quantization_of

FROM_CACHE: Final = frozenset({"llama4_text"})
"""Values of `model_type` of networks that count rows, starting at the length of the cache."""


class PositionsAsCache:
    """Stand-in for a cache that is as long, for each row, as the difference between its position and its place."""

    def __init__(self, positions: torch.Tensor) -> None:
        """positions: [T] int64, of the rows of a flat batch."""
        self._lengths = positions - torch.arange(len(positions), device=positions.device)

    def get_seq_length(self, layer_idx: int = 0) -> torch.Tensor:  # noqa: ARG002
        """Return the lengths [T], to which the network adds the places of the rows."""
        return self._lengths

    def update(
        self,
        key_states: torch.Tensor,
        value_states: torch.Tensor,
        layer_idx: int,  # noqa: ARG002
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the keys and values of the batch alone."""
        return key_states, value_states


logger = logging.getLogger(__name__)


class TransformersForCausalLM:
    """A network of the transformers library. Satisfies `models.interface.causal_lm.CausalLM`."""

    def __init__(
        self,
        network: PreTrainedModel,
        window: int | None = None,
        dtype: torch.dtype | None = None,
        quantizer: str = "",
    ) -> None:
        """Probe `network`. The caller must not use it afterwards.

        window: largest number of tokens of a sequence; None for as many as the network has positions.
        dtype: type of keys and values; None for the network's own. Some quantizers compute in another type than asked.
        quantizer: name and version of the code that multiplies by quantized matrices; empty if there are none.

        Raise UnsupportedModelError if its attention cannot be cached.
        """
        config = network.config
        self._network = network.eval().requires_grad_(False)
        self._body = _body_of(network)
        self._head = _replaced(network, _path_of(self._body, network), _GivenHiddenStates())
        self.is_tested = config.model_type in TESTED
        self._counts_rows = config.model_type in FROM_CACHE
        self.max_position_embeddings: int = config.max_position_embeddings
        rope = pin_rope(network, min(window or self.max_position_embeddings, self.max_position_embeddings))
        names = ("transformers", transformers.__version__, type(network).__name__, rope, quantizer)
        self.kernels = "-".join(filter(None, names))
        self.dtype: torch.dtype = dtype or network.dtype
        self.attention, hidden = probe(network, self._body)
        self.vocab_size = self.compute_logits(hidden).shape[-1]
        use_attention(network, BRIDGED)

    def forward(self, input_ids: torch.Tensor, positions: torch.Tensor, context: ForwardContext) -> torch.Tensor:
        """Compute the final hidden states [T, hidden] of input_ids and positions, each [T] int64."""
        cache = {"past_key_values": PositionsAsCache(positions)} if self._counts_rows else {}
        with receiving(ContextPass(context, self.dtype)):
            output = self._body(input_ids=input_ids[None], position_ids=positions[None], use_cache=False, **cache)
        hidden: torch.Tensor = output.last_hidden_state[0]
        return hidden

    def compute_logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Compute the logits [R, vocab] float32 of hidden states [R, hidden].

        The network's own forward function does this, so that soft-capping and scaling of logits are included.
        """
        logits: torch.Tensor = self._head(inputs_embeds=hidden[None], use_cache=False).logits[0]
        return logits.float()

    def pack_matrices(self, packer: MatrixPacker) -> None:
        """See `models.interface.causal_lm.HasMatrices`."""
        pack_network(self._network, packer)
        self.kernels = f"{self.kernels};{packer.name}"
        try:
            check_network(self, self._network)
        except RuntimeError as error:  # of torch, about a weight that was freed
            name = type(self._network).__name__
            raise UnsupportedModelError(f"{name} needs the plain values of a packed matrix: {error}") from error


def load_network(
    folder: ModelFolder,
    dtype: torch.dtype,
    device: torch.device,
    window: int | None = None,
    ranks: RankGroup = SINGLE_RANK,
) -> TransformersForCausalLM:
    """Load the network in `folder` from its safetensors files, and check it.

    window: see `TransformersForCausalLM`. ranks: the tensor-parallel group, of which each rank keeps its part.

    Raise UnsupportedModelError for a network that cannot be served, WeightsError for tensors that do not fit it,
    ModelNotFoundError for a folder without its files.
    """
    check_split(folder, dtype, ranks.size, device.type)  # refuses a network before its weights are read
    network = load_weights(folder, dtype, device)
    if ranks.size > 1:
        keep_part(_body_of(network), network.config.base_model_tp_plan or {}, ranks)
    quantizer = quantizer_name(folder.config())
    if not quantizer:
        torch.nn.Module.to(network, device)
    model = TransformersForCausalLM(network, window, dtype, quantizer)
    check_network(model, network)
    logger.info("using %s, %d attention calls per pass", model.kernels, len(model.attention))
    if not model.is_tested:
        logger.warning("model_type %r passed its self-check, but is not one of those tested", network.config.model_type)
    return model


def check_split(folder: ModelFolder, dtype: torch.dtype, size: int, device: str) -> None:
    """Raise UnsupportedModelError for a network that cannot be served on `device`, or not by `size` ranks.

    Reads config.json alone.
    """
    shape = read_shape(folder, dtype, device)
    if size > 1:
        if quantization_of(folder.config()):
            raise UnsupportedModelError("a quantized folder cannot be divided: leave out --tensor-parallel-size")
        check_plan(read_config(folder, device), shape.attention, size)


def read_shape(folder: ModelFolder, dtype: torch.dtype, device: str) -> TransformersForCausalLM:
    """Read the shape of the network in `folder` from its config.json, without weights or memory for them.

    Raise UnsupportedModelError for a network that cannot be served on `device`.
    """
    config = read_config(folder, device)
    kind = network_class(config)
    try:
        with torch.device("meta"):
            # Other implementations of experts look at values, which a network without memory does not have.
            network = make_network(kind, config, dtype=dtype, attention=EAGER, experts="batched_mm")
        return TransformersForCausalLM(network, quantizer=quantizer_name(folder.config()))
    except UnsupportedModelError:
        raise
    except Exception as error:  # whatever a network raises for a configuration that it does not expect
        raise UnsupportedModelError(f"{kind.__name__} of transformers cannot be probed: {error}") from error


def _body_of(network: PreTrainedModel) -> torch.nn.Module:
    """Return the part of a causal language model that computes hidden states."""
    decoder: torch.nn.Module = network.get_decoder()
    # Llama 4 names another prefix than it uses.
    return decoder if decoder is not network else network.get_submodule("model")


def _path_of(module: torch.nn.Module, network: torch.nn.Module) -> str:
    paths: dict[torch.nn.Module, str] = {candidate: path for path, candidate in network.named_modules()}
    return paths[module]


def _replaced(module: torch.nn.Module, path: str, leaf: torch.nn.Module) -> torch.nn.Module:
    """Copy `module` with `leaf` at `path`. The copy shares every other module and all weights."""
    name, _, rest = path.partition(".")
    return with_part(module, name, _replaced(module.get_submodule(name), rest, leaf) if rest else leaf)


@dataclass
class _GivenOutput(MoeModelOutputWithPast):  # type: ignore[misc]
    """Output with every field that the forward function of some language model passes on."""

    cross_attentions: None = None
    shared_kv_states: None = None


class _GivenHiddenStates(torch.nn.Module):
    """Stand-in for the body of a network, whose hidden states are its input."""

    def forward(self, *_: object, inputs_embeds: torch.Tensor, **__: object) -> _GivenOutput:
        """Return `inputs_embeds` as the last hidden states."""
        return _GivenOutput(last_hidden_state=inputs_embeds)
