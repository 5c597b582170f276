"""Bridge between the attention interface of transformers and the forward pass that is being computed.

A network is switched by the name of its attention implementation. With BRIDGED, transformers builds no masks, since the
context knows the sequences. With PROBED, transformers builds masks too, so that the probe can read their rules.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Protocol

import torch
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel

from models.interface.causal_lm import ForwardContext
from models.transformers.transformers_parts import set_attention

BRIDGED: Final = "ebb"
PROBED: Final = "ebb_probe"
EAGER: Final = "eager"

MaskFunction = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
"""Visibility of keys: (batch index, head index, query positions, key positions) to booleans, with broadcasting."""


class AttentionPass(Protocol):
    """Receiver of the attention calls of one forward pass, in order."""

    def attend(
        self,
        module: torch.nn.Module,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        mask: torch.Tensor | None,
        rules: Mapping[str, Any],
    ) -> torch.Tensor:
        """Compute q [1, heads, T, k_dim] over k and v [1, kv_heads, T, ...] as [1, T, heads, v_dim].

        rules: keyword arguments of the call, such as `scaling`.
        """

    def mask(self, function: MaskFunction, size: int) -> torch.Tensor:
        """Return the mask to hand to the layers whose visibility is `function`. size: of the window or chunk, or 0."""


class ContextPass:
    """Forward pass over a ForwardContext. The place of a call in the pass is its index."""

    def __init__(self, context: ForwardContext, dtype: torch.dtype) -> None:
        """dtype: type of the context's keys and values."""
        self._context = context
        self._dtype = dtype
        self._calls = 0

    def attend(
        self,
        module: torch.nn.Module,  # noqa: ARG002
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        mask: torch.Tensor | None,  # noqa: ARG002
        rules: Mapping[str, Any],
    ) -> torch.Tensor:
        """Hand the call to the context. See `AttentionPass`."""
        index, self._calls = self._calls, self._calls + 1
        of_network = q.dtype
        q, k, v = (x[0].transpose(0, 1) for x in (q, k, v))
        if of_network != self._dtype:
            q, k, v = (x.to(self._dtype) for x in (q, k, v))
        return self._context.attention(index, q, k, v, rules.get("s_aux")).unsqueeze(0).to(of_network)

    def mask(self, function: MaskFunction, size: int) -> torch.Tensor:  # noqa: ARG002
        """Raise RuntimeError, because BRIDGED has no masks."""
        raise RuntimeError("a mask was built for a pass that needs none")


_current_pass: ContextVar[AttentionPass] = ContextVar("current_pass")


@contextmanager
def receiving(attention_pass: AttentionPass) -> Iterator[None]:
    """Send the attention calls of this thread to `attention_pass`."""
    token = _current_pass.set(attention_pass)
    try:
        yield
    finally:
        _current_pass.reset(token)


def use_attention(network: PreTrainedModel, name: str) -> None:
    """Switch every module of `network` to the attention implementation `name`."""
    for module in network.modules():
        config = getattr(module, "config", None)
        if config is not None:
            set_attention(config, name)


def _attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None = None,
    **rules: Any,
) -> tuple[torch.Tensor, None]:
    return _current_pass.get().attend(module, query, key, value, attention_mask, rules), None


def _mask(*, mask_function: MaskFunction, local_size: int | None = None, **_: Any) -> torch.Tensor:
    return _current_pass.get().mask(mask_function, local_size or 0)


for _name in (BRIDGED, PROBED):
    AttentionInterface.register(_name, _attend)
AttentionMaskInterface.register(PROBED, _mask)
