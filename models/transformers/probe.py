"""Probe of a network: the attention calls of a one-token pass, with the rules that each one states."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import torch
from transformers import PreTrainedConfig, PreTrainedModel

from models.errors import UnsupportedModelError
from models.interface.attention_call import AttentionCall
from models.transformers.attention_bridge import PROBED, MaskFunction, receiving, use_attention

_READ: Final = frozenset({"scaling", "softcap", "s_aux"})
"""Arguments of an attention call that the probe reads."""

_HARMLESS: Final = frozenset(
    {
        "dropout",
        "is_causal",
        "sliding_window",
        "position_ids",
        "position_embeddings",
        "use_cache",
        "past_key_values",
        "output_attentions",
        "output_hidden_states",
        "output_router_logits",
        "return_dict",
    }
)
"""Arguments that eager attention of transformers ignores, since masks hold the rules, or that are off in use."""


def probe(network: PreTrainedModel, body: torch.nn.Module) -> tuple[tuple[AttentionCall, ...], torch.Tensor]:
    """Pass one token through `body`, the part of `network` below its head.

    Return the attention calls in order, and hidden states of the right shape, [1, hidden].

    network: may be on the meta device. The probe leaves the attention implementation PROBED switched on.

    Raise UnsupportedModelError for a call whose rules a ForwardContext cannot keep, and for calls that are not one or
    more per layer: then some attention did not go through the interface.
    """
    recorder = _Recorder(network.config, network.device)
    use_attention(network, PROBED)
    zero = torch.zeros(1, 1, dtype=torch.int64, device=network.device)
    # An explicit mask keeps transformers from looking for packed sequences, by values that the meta device lacks.
    with torch.inference_mode(), receiving(recorder):
        output = body(input_ids=zero, position_ids=zero, attention_mask=torch.ones_like(zero), use_cache=False)
    calls, layers = recorder.calls, network.config.num_hidden_layers
    if not calls or len(calls) % layers:
        raise UnsupportedModelError(
            f"{type(network).__name__} has {layers} layers, but {len(calls)} attention calls reached the interface of "
            "transformers: attention of another kind cannot be cached"
        )
    return tuple(calls), output.last_hidden_state[0]


class _Recorder:
    def __init__(self, config: PreTrainedConfig, device: torch.device) -> None:
        self._last = config.max_position_embeddings - 1
        self._chunk = getattr(config, "attention_chunk_size", None)
        self._device = device
        self._masks: list[tuple[torch.Tensor, MaskFunction, int]] = []
        self._rules: dict[int, tuple[int, int]] = {}
        self.calls: list[AttentionCall] = []

    def mask(self, function: MaskFunction, size: int) -> torch.Tensor:
        """Return a stand-in for a mask, by which the layers' calls name its rule."""
        mask = torch.zeros(1, 1, 1, 1, device=self._device)
        self._masks.append((mask, function, size))
        return mask

    def attend(
        self,
        module: torch.nn.Module,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        mask: torch.Tensor | None,
        rules: Mapping[str, Any],
    ) -> torch.Tensor:
        """Record a call, and return zeros."""
        unread = [name for name, value in rules.items() if name not in _READ | _HARMLESS and _states(value)]
        if unread:
            raise UnsupportedModelError(
                f"attention of {type(module).__name__} depends on {', '.join(sorted(unread))}, which is not supported"
            )
        heads, kv_heads = q.shape[1], k.shape[1]
        if heads % kv_heads:
            raise UnsupportedModelError(f"{heads} attention heads cannot share {kv_heads} key-value heads")
        window, chunk = self._rule_of(mask, module)
        sinks = rules.get("s_aux")
        if sinks is None and getattr(module, "sinks", None) is not None:
            raise UnsupportedModelError(f"{type(module).__name__} has attention sinks, but does not state them")
        self.calls.append(
            AttentionCall(
                heads=heads,
                kv_heads=kv_heads,
                k_dim=k.shape[3],
                v_dim=v.shape[3],
                scale=float(rules.get("scaling") or k.shape[3] ** -0.5),
                window=window,
                chunk=chunk,
                softcap=float(rules.get("softcap") or 0.0),
                sinks=sinks is not None,
            )
        )
        return q.new_zeros(1, q.shape[2], q.shape[1], v.shape[3])

    def _rule_of(self, mask: torch.Tensor | None, module: torch.nn.Module) -> tuple[int, int]:
        """Return the window and the chunk, each 0 for none, that explain `mask` at every position."""
        for index, (known, function, size) in enumerate(self._masks):
            if known is mask:
                # Most layers share a mask. Masks that no layer uses may have any rule.
                if index not in self._rules:
                    self._rules[index] = self._read(function, size)
                return self._rules[index]
        raise UnsupportedModelError(f"{type(module).__name__} does not take its mask from transformers' mask functions")

    def _read(self, function: MaskFunction, size: int) -> tuple[int, int]:
        if self._device.type == "meta" and size and size == self._chunk:
            # The function of chunks reads a tensor. A loaded network confirms the chunk.
            return 0, size
        return _window_and_chunk(function, size, self._last, self._device)


def _states(value: object) -> bool:
    return value is not None and value is not False


def _window_and_chunk(function: MaskFunction, size: int, last: int, device: torch.device) -> tuple[int, int]:
    """Return the window and the chunk that explain the mask `function` up to the position `last`.

    size: the window or the chunk that transformers named, or 0.
    """
    indices = torch.arange(last + 2, device=None if device.type == "meta" else device)
    for window, chunk in ((0, 0), (size, 0), (0, size)):
        rule = AttentionCall(heads=1, kv_heads=1, k_dim=1, v_dim=1, scale=1.0, window=window, chunk=chunk)
        if all(_follows(rule, function, query, indices) for query in _samples(size, last)):
            return window, chunk
    raise UnsupportedModelError("its attention is not causal with at most a window or chunks, which is not supported")


def _samples(size: int, last: int) -> Iterator[int]:
    """Yield query positions around the multiples of `size`, where windows and chunks differ."""
    edges = (0, size, 2 * size, 3 * size, last)
    yield from sorted({query for edge in edges for query in (edge - 1, edge, edge + 1) if 0 <= query <= last})


def _follows(rule: AttentionCall, function: MaskFunction, query: int, indices: torch.Tensor) -> bool:
    """Return whether the query sees the same keys by `function` and by `rule`. indices: [positions + 1]."""
    keys = indices[: query + 2]
    seen = function(indices[0], indices[0], indices[query], keys).broadcast_to(keys.shape)
    return torch.equal(seen, (keys >= rule.first_visible(query)) & (keys <= query))
