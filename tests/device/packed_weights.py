"""Folders of networks whose linear layers are rounded: to 4 bits in the layouts of GPTQ and AWQ, or to FP8."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import torch
from safetensors.torch import save_file
from transformers import PreTrainedModel

GROUP: Final = 64
"""Number of consecutive inputs that share a scale and a zero point."""

_BITS: Final = 4
_LARGEST: Final = 2**_BITS - 1
_PER_WORD: Final = 32 // _BITS

_AWQ_ORDER: Final = (0, 2, 4, 6, 1, 3, 5, 7)
"""Column, of each eight, whose code is in the 4 bits of a word that start at bit 0, 4, 8 and so on."""

SETTINGS: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "gptq": {"desc_act": False, "sym": True, "checkpoint_format": "gptq"},
        "awq": {"version": "gemm", "zero_point": True},
    }
)
"""Values of quantization_config that name a layout, by `quant_method`."""


FP8_BLOCK: Final = 128
"""Number of consecutive outputs, and of inputs, whose FP8 weights share a scale."""

_LARGEST_FP8: Final = torch.finfo(torch.float8_e4m3fn).max


@dataclass(frozen=True)
class Codes:
    """Weights of a linear layer as whole numbers from 0 to 15.

    codes: [in, out] int32. scales: [groups, out] float32, exact in float16 and bfloat16.
    zeros: codes [groups, out] int32 that stand for 0.
    """

    codes: torch.Tensor
    scales: torch.Tensor
    zeros: torch.Tensor

    def weight(self) -> torch.Tensor:
        """Return the weight [out, in] float32 that the codes stand for."""
        zeros, scales = (x.repeat_interleave(GROUP, 0) for x in (self.zeros, self.scales))
        return ((self.codes - zeros) * scales).T.contiguous()


def rounded(weight: torch.Tensor, *, symmetric: bool) -> Codes:
    """Round `weight` [out, in] to the nearest codes.

    symmetric: whether the code 8 stands for 0 in all groups.
    """
    values = weight.T.float()
    groups = values.view(-1, GROUP, values.shape[1])
    low, high = groups.amin(1).clamp(max=0), groups.amax(1).clamp(min=0)
    span = 2 * torch.maximum(-low, high) if symmetric else high - low
    scales = (span / _LARGEST).bfloat16().half().float()
    zeros = torch.full_like(scales, 8) if symmetric else (-low / scales).round()
    codes = (groups / scales[:, None] + zeros[:, None]).round().clamp(0, _LARGEST)
    return Codes(codes.view_as(values).int(), scales, zeros.int())


def gptq_tensors(layer: Codes) -> dict[str, torch.Tensor]:
    """Pack codes down the inputs and zero points along the outputs, as version 1 of GPTQ: zero points less 1."""
    return {
        "qweight": _words(layer.codes.T).T,
        "qzeros": _words(layer.zeros - 1),
        "scales": layer.scales.half(),
        "g_idx": torch.arange(len(layer.codes), dtype=torch.int32) // GROUP,
    }


def awq_tensors(layer: Codes) -> dict[str, torch.Tensor]:
    """Pack codes and zero points along the outputs in the order of AWQ's gemm version."""
    codes, zeros = (x.unflatten(1, (-1, _PER_WORD))[..., _AWQ_ORDER].flatten(1) for x in (layer.codes, layer.zeros))
    return {"qweight": _words(codes), "qzeros": _words(zeros), "scales": layer.scales.half()}


def save_rounded(network: PreTrainedModel, folder: Path, method: str, backend: str) -> None:
    """Round the linear layers inside the blocks of `network`, and save them packed in the layout of `method`.

    method: "gptq" or "awq". backend: name of the kernels that gptqmodel is to use.
    """
    pack = {"gptq": gptq_tensors, "awq": awq_tensors}[method]
    tensors = dict[str, torch.Tensor]()
    for path, layer in _linear_layers(network):
        codes = rounded(layer.weight.detach(), symmetric=method == "gptq")
        layer.weight.data = codes.weight().to(layer.weight.dtype)
        tensors |= {f"{path}.{key}": value.contiguous() for key, value in pack(codes).items()}
    settings = {"quant_method": method, "bits": _BITS, "group_size": GROUP, "backend": backend, **SETTINGS[method]}
    _save(network, folder, tensors, settings)


def save_in_fp8(network: PreTrainedModel, folder: Path) -> None:
    """Round the linear layers inside the blocks of `network` to FP8, and save them with a scale for each square block.

    `network` then rounds the inputs of these layers as well, as kernels for FP8 do.
    """
    tensors = dict[str, torch.Tensor]()
    for path, layer in _linear_layers(network):
        blocks = layer.weight.detach().unflatten(0, (-1, FP8_BLOCK)).unflatten(2, (-1, FP8_BLOCK))
        scales = blocks.abs().amax((1, 3), keepdim=True) / _LARGEST_FP8
        codes = (blocks / scales).to(torch.float8_e4m3fn)
        layer.weight.data = (codes.float() * scales).view_as(layer.weight)
        layer.register_forward_pre_hook(_round_inputs)
        tensors[f"{path}.weight"] = codes.view_as(layer.weight)
        tensors[f"{path}.weight_scale_inv"] = scales[:, 0, :, 0].clone()
    block = [FP8_BLOCK, FP8_BLOCK]
    settings = {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": block}
    _save(network, folder, tensors, settings)


def _linear_layers(network: PreTrainedModel) -> Iterator[tuple[str, torch.nn.Linear]]:
    """Yield the linear layers inside the blocks of `network`, with the paths of their tensors."""
    for name, layer in network.base_model.named_modules():
        if isinstance(layer, torch.nn.Linear):
            yield f"{network.base_model_prefix}.{name}", layer


def _round_inputs(_: torch.nn.Module, inputs: tuple[torch.Tensor]) -> torch.Tensor:
    """Round each FP8_BLOCK consecutive elements of the inputs of a layer to FP8 with a separate scale."""
    groups = inputs[0].unflatten(-1, (-1, FP8_BLOCK))
    scales = groups.abs().amax(-1, keepdim=True).clamp(min=1e-12) / _LARGEST_FP8
    rounded_inputs: torch.Tensor = (groups / scales).to(torch.float8_e4m3fn).to(groups.dtype) * scales
    return rounded_inputs.flatten(-2)


def _save(
    network: PreTrainedModel, folder: Path, tensors: Mapping[str, torch.Tensor], quantization_config: Mapping[str, Any]
) -> None:
    """Save `tensors` and the weights of the layers that they leave out."""
    packed = {name.rpartition(".")[0] for name in tensors}
    rest = {
        name: value.half() for name, value in network.state_dict().items() if name.removesuffix(".weight") not in packed
    }
    network.config.architectures = [type(network).__name__]
    network.config.save_pretrained(folder)
    save_file({**tensors, **rest}, folder / "model.safetensors", metadata={"format": "pt"})
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"quantization_config": quantization_config}))


def _words(codes: torch.Tensor) -> torch.Tensor:
    """Put each eight codes of a row into a word, the first in the lowest bits: [rows, n] to [rows, n / 8] int32."""
    shifts = torch.arange(0, 32, _BITS)
    words = (codes.long().unflatten(1, (-1, _PER_WORD)) << shifts).sum(-1)
    return torch.where(words >= 2**31, words - 2**32, words).int()
