"""Tensor parallelism of a network by the plan of transformers (`base_model_tp_plan`): each rank keeps its part.

The plan names modules and parameters of the body by patterns, and a style for each. Parts of a product that every rank
adds to are summed by Ebb's own group, as in the shared decoder: a bias counts on rank 0 alone.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import torch
from torch import nn
from torch.nn import functional
from transformers import PreTrainedConfig

from models.errors import UnsupportedModelError
from models.interface.attention_call import AttentionCall
from models.interface.parallel import RankGroup

ROWS: Final = "colwise"
PACKED_ROWS: Final = "packed_colwise"
COLUMNS: Final = "rowwise"
COLUMNS_OF_WHOLE_INPUT: Final = "rowwise_split_input"
SUMMED: Final = frozenset({"moe_tp_experts", "all_reduce"})
WHOLE: Final = frozenset(
    {
        "colwise_gather_output",
        "embedding_colwise",
        "embedding_rowwise",
        "mla_kv_a_proj",
        "replicate",
        "replicated_with_grad_allreduce",
    }
)
"""Styles of modules that every rank computes whole: their effect is on training, or another way to the same values."""

_CUT: Final[Mapping[str, int]] = MappingProxyType({ROWS: -2, PACKED_ROWS: -2, COLUMNS: -1, COLUMNS_OF_WHOLE_INPUT: -1})
"""Dimension of a weight that is divided, by style."""

_KEY_PROJECTIONS: Final = frozenset({"k_proj", "qkv_proj", "query_key_value"})
"""Names of the layers that compute the keys, alone or with others. Where they stay whole, so do the heads."""


def check_plan(config: PreTrainedConfig, calls: Sequence[AttentionCall], size: int) -> None:
    """Raise UnsupportedModelError if a network cannot be divided among `size` ranks, apart from odd sizes of matrices.

    calls: attention calls of the whole network.
    """
    plan = config.base_model_tp_plan
    if not plan:
        raise UnsupportedModelError(
            f"transformers has no plan (tp_plan) for model_type {config.model_type!r}: leave out --tensor-parallel-size"
        )
    if unknown := sorted(set(plan.values()) - {*_CUT, *SUMMED, *WHOLE}):
        raise UnsupportedModelError(
            f"the plan (tp_plan) for model_type {config.model_type!r} needs {', '.join(unknown)}, which is not "
            "implemented: leave out --tensor-parallel-size"
        )
    keys = [style for pattern, style in plan.items() if pattern.rpartition(".")[2] in _KEY_PROJECTIONS]
    for call in calls if ROWS in keys else ():
        for name, count in (("heads", call.heads), ("KV heads", call.kv_heads)):
            if count % size:
                raise UnsupportedModelError(f"{count} {name} cannot be divided among {size} ranks")


def keep_part(body: nn.Module, plan: Mapping[str, str], ranks: RankGroup) -> None:
    """Reduce the matrices of `body` to the part of this rank, and let it add up what every rank has a part of.

    Raise UnsupportedModelError for a matrix that cannot be divided evenly.
    """
    modules, named = dict(body.named_modules()), list(_named(body, plan))
    if all(style in WHOLE for _, style in named):
        raise UnsupportedModelError(f"the plan (tp_plan) for {type(body).__name__} divides none of its matrices")
    for path, style in named:
        module = modules.get(path)
        if style in WHOLE:
            continue
        if module is None:
            owner, _, name = path.rpartition(".")
            _cut(modules[owner], name, style, path, ranks)
        elif style in SUMMED:
            _replace(module, _Summed, ranks)
        elif isinstance(module, nn.Linear) and type(module).forward is nn.Linear.forward:
            _cut_linear(module, style, path, ranks)
        else:
            raise UnsupportedModelError(f"{type(module).__name__} at {path} cannot be divided among ranks")


def _named(body: nn.Module, plan: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the path and style of every module and parameter that a pattern of the plan names. `*` is a number."""
    names = (*(path for path, _ in body.named_modules()), *(path for path, _ in body.named_parameters()))
    for path in names:
        if style := plan.get(re.sub(r"(?<=\.)\d+(?=\.|$)", "*", path)):
            yield path, style


def _cut_linear(layer: nn.Linear, style: str, path: str, ranks: RankGroup) -> None:
    _cut(layer, "weight", style, path, ranks)
    if layer.bias is not None:
        if style in (ROWS, PACKED_ROWS):
            _cut(layer, "bias", style, path, ranks)
        elif ranks.rank:
            layer.bias.data = torch.zeros_like(layer.bias)
    if style in (COLUMNS, COLUMNS_OF_WHOLE_INPUT):
        _replace(layer, _SummedLinear if style == COLUMNS else _SummedLinearOfWhole, ranks)


def _cut(module: nn.Module, name: str, style: str, path: str, ranks: RankGroup) -> None:
    """Reduce a parameter to this rank's part, a copy, so that the whole one is freed."""
    parameter = module.get_parameter(name)
    if getattr(module, "has_bias", False) or getattr(module, "is_transposed", False):
        raise UnsupportedModelError(f"the experts at {path} cannot be divided among ranks")
    axis = _CUT[style] if parameter.dim() > 1 else -1
    pieces = 2 if style == PACKED_ROWS else 1
    if parameter.shape[axis] % (pieces * ranks.size):
        raise UnsupportedModelError(f"{path} of {parameter.shape[axis]} cannot be divided among {ranks.size} ranks")
    parts = [whole.chunk(ranks.size, axis)[ranks.rank] for whole in parameter.data.chunk(pieces, axis)]
    parameter.data = torch.cat(parts, axis).contiguous()


def _replace(module: Any, kind: type[nn.Module], ranks: RankGroup) -> None:
    """Turn `module` into one of `kind`, which calls what the module did before."""
    module.ranks = ranks
    module.__class__ = type(type(module).__name__, (kind, type(module)), {})


class _Summed(nn.Module):
    """Module whose outputs are added up over the ranks."""

    ranks: RankGroup

    def forward(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        """Compute this rank's part, and return the sum."""
        return self.ranks.sum(super().forward(*args, **kwargs))


class _SummedLinear(nn.Module):
    """Linear layer with columns of a weight, for inputs of which this rank computes its part."""

    ranks: RankGroup
    weight: nn.Parameter
    bias: nn.Parameter | None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map this rank's part of x to the sum of all ranks' products."""
        return self.ranks.sum(functional.linear(x, self.weight, self.bias))


class _SummedLinearOfWhole(_SummedLinear):
    """Linear layer with columns of a weight, for inputs that every rank has whole."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x to the sum of all ranks' products, each with its own part of x."""
        return super().forward(x.chunk(self.ranks.size, -1)[self.ranks.rank])
