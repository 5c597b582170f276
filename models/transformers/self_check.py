"""Check of a loaded network: logits over cached keys and values against those of transformers alone."""

from collections.abc import Sequence
from typing import Final

import torch
from transformers import PreTrainedModel

from models.errors import UnsupportedModelError
from models.interface.attention_call import AttentionCall
from models.interface.causal_lm import CausalLM
from models.interface.dense_context import DenseContext
from models.transformers.attention_bridge import BRIDGED, EAGER, use_attention

_LENGTHS: Final = (23, 17)
_FIRST_CHUNK: Final = 13

_TOLERANCES: Final = {torch.float32: 1e-3, torch.bfloat16: 0.2}
"""Largest median error of a chunk's rows, as a part of the logits' spread, by the type of keys and values.

A wrong network is off by about 1.
"""


@torch.inference_mode()
def check_network(model: CausalLM, network: PreTrainedModel) -> None:
    """Compare `model` with `network`, which computes it, on the loaded weights.

    A prompt is computed in two chunks, the second one in a batch with another prompt and with a token at the last
    position. Transformers computes each prompt alone and at once, with its eager attention.

    Raise UnsupportedModelError if the logits differ by more than rounding.
    """
    generator = torch.Generator().manual_seed(0)
    long, short = (
        torch.randint(model.vocab_size, (count,), generator=generator).to(network.device) for count in _LENGTHS
    )
    use_attention(network, EAGER)
    expected = [network(input_ids=ids[None], use_cache=False).logits[0].float() for ids in (long, short)]
    use_attention(network, BRIDGED)
    context = _KeptSequences(model.attention)
    first = _logits(model, context, [(0, long[:_FIRST_CHUNK], 0)])
    far = model.max_position_embeddings - 1
    second = _logits(model, context, [(0, long[_FIRST_CHUNK:], _FIRST_CHUNK), (1, short, 0), (2, short[:1], far)])
    rest = len(long) - _FIRST_CHUNK
    _compare("a prompt", first, expected[0][:_FIRST_CHUNK], model.dtype)
    _compare("the second chunk of a prompt", second[:rest], expected[0][_FIRST_CHUNK:], model.dtype)
    _compare("a prompt in a batch", second[rest:-1], expected[1], model.dtype)


def _logits(
    model: CausalLM, context: "_KeptSequences", chunks: Sequence[tuple[int, torch.Tensor, int]]
) -> torch.Tensor:
    """Compute the logits of chunks, each with the number of its sequence, its ids and its first position."""
    context.spans = [(sequence, len(ids)) for sequence, ids, _ in chunks]
    positions = torch.cat([torch.arange(start, start + len(ids), device=ids.device) for _, ids, start in chunks])
    return model.compute_logits(model.forward(torch.cat([ids for _, ids, _ in chunks]), positions, context))


def _compare(subject: str, found: torch.Tensor, expected: torch.Tensor, dtype: torch.dtype) -> None:
    spread = (expected - expected.mean(-1, keepdim=True)).norm(dim=-1)
    error = float(((found - expected).norm(dim=-1) / spread).median())
    limit = _TOLERANCES[dtype]
    if not error <= limit:
        raise UnsupportedModelError(
            f"the self-check failed: over the cache, {subject} has other logits than in transformers alone "
            f"(error {error:.2g}, at most {limit:.2g})"
        )


class _KeptSequences:
    """ForwardContext of several sequences, which keeps their keys and values from pass to pass.

    spans: sequence and number of rows of each part of the next pass, in order.
    """

    def __init__(self, calls: Sequence[AttentionCall]) -> None:
        self._dense = DenseContext(calls)
        self._kept: dict[tuple[int, int], tuple[torch.Tensor, torch.Tensor]] = {}
        self.spans: list[tuple[int, int]] = []

    def attention(
        self, index: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, sinks: torch.Tensor | None = None
    ) -> torch.Tensor:
        """See `models.interface.causal_lm.ForwardContext`."""
        qs, ks, vs = (x.split([count for _, count in self.spans]) for x in (q, k, v))
        sequences = [sequence for sequence, _ in self.spans]
        parts = zip(sequences, qs, ks, vs, strict=True)
        return torch.cat([self._attend(index, sequence, q, k, v, sinks) for sequence, q, k, v in parts])

    def _attend(
        self,
        index: int,
        sequence: int,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        sinks: torch.Tensor | None,
    ) -> torch.Tensor:
        if (kept := self._kept.get((index, sequence))) is not None:
            k, v = (torch.cat(pair) for pair in zip(kept, (k, v), strict=True))
        self._kept[index, sequence] = k, v
        # Zero queries stand for the rows that were computed before.
        whole = torch.cat((q.new_zeros(len(k) - len(q), *q.shape[1:]), q))
        return self._dense.attention(index, whole, k, v, sinks)[len(k) - len(q) :]
