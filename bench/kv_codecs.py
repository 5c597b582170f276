"""Codecs for smaller KV blocks, compared by `bench.kv_compression`.

A block is bfloat16 [layer, 2 (K, V), kv_head, 64, 64 or 128], and its pages are in the kernels' own order (see
engine/cpu/kernels/kv_pages.h):

    K: [slots / 32, dims / 2, 32 slots, 2 dims]
    V: [dims / 32, slots / 2, 32 dims, 2 slots]

So a scale per token and one per channel are maxima over different axes of the page in its stored order, and no data is
moved.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import torch

from engine.cpu.weights import PANEL

Axes = tuple[int, ...]

# Axes of [layer, head, panel, pair, in panel, in pair].
_PANELS: Final = (2, 4)
_PAIRS: Final = (3, 5)
PAGE: Final = (2, 3, 4, 5)
"""Axes of one scale for all 64 tokens of a head."""
K_TOKEN, K_CHANNEL = _PAIRS, _PANELS
V_TOKEN, V_CHANNEL = _PANELS, _PAIRS
"""Axes of the maximum for a scale per token (over its channels) and per channel (over the block's tokens)."""

_SMALLEST_SCALE: Final = 2.0**-14
_BYTE: Final = 8
_WINDOW_BITS: Final = -15  # Raw deflate: no header and no checksum, since the value has a MAC.


class Codec(Protocol):
    """A lossy or exact encoding of blocks. Thread-safe; both directions run on the caller's thread."""

    @property
    def name(self) -> str:
        """Name for the table."""
        ...

    def encode(self, block: torch.Tensor) -> bytearray:
        """Return the block as it would be stored in Redis."""
        ...

    def decode(self, value: bytearray, into: torch.Tensor) -> None:
        """Fill `into` from the encoding of a block of the same shape."""
        ...


class Raw:
    """Encoding that changes nothing."""

    name = "as it is"

    def encode(self, block: torch.Tensor) -> bytearray:
        """See Codec."""
        return bytearray(block.view(torch.uint8).numpy().tobytes())

    def decode(self, value: bytearray, into: torch.Tensor) -> None:
        """See Codec."""
        into.view(torch.uint8).view(-1).copy_(torch.frombuffer(value, dtype=torch.uint8))


class HuffmanExponents:
    """Exact encoding that compresses the exponents only.

    Signs and mantissas are noise and are stored unchanged. Exponents are stored in zlib's Huffman codes, without a
    search for repetitions.
    """

    name = "exact: Huffman-coded exponents"

    def encode(self, block: torch.Tensor) -> bytearray:
        """See Codec. After a rotation by one bit, the exponent is the upper byte of a number."""
        numbers = block.view(torch.uint16).numpy().reshape(-1)
        rotated = (numbers << 1 | numbers >> 15).view(np.uint8)
        deflate = zlib.compressobj(1, zlib.DEFLATED, _WINDOW_BITS, zlib.DEF_MEM_LEVEL, zlib.Z_HUFFMAN_ONLY)
        exponents = deflate.compress(rotated[1::2].tobytes())
        return bytearray(b"".join((rotated[::2].tobytes(), exponents, deflate.flush())))

    def decode(self, value: bytearray, into: torch.Tensor) -> None:
        """See Codec."""
        numbers = into.view(torch.uint16).numpy().reshape(-1)
        count = len(numbers)
        planes = numbers.view(np.uint8)
        planes[::2] = np.frombuffer(value, np.uint8, count)
        planes[1::2] = np.frombuffer(zlib.decompress(memoryview(value)[count:], _WINDOW_BITS, count), np.uint8)
        np.bitwise_or(numbers >> 1, numbers << 15, out=numbers)


@dataclass(frozen=True, slots=True)
class Integers:
    """Rounding to whole multiples of a float16 scale, in 8 bits or some more.

    over_k, over_v: axes of a page whose elements share a scale.
    centred: whether they also share an offset, the middle between the least and the greatest.
    """

    name: str
    over_k: Axes
    over_v: Axes
    bits: int = _BYTE
    centred: bool = False

    def encode(self, block: torch.Tensor) -> bytearray:
        """See Codec. First K, then V: offsets, scales, the upper 8 bits of each number, planes of the bits below."""
        value = bytearray()
        for pages, over in zip(_pages(block), (self.over_k, self.over_v), strict=True):
            numbers = pages.float()
            if self.centred:
                offset = ((numbers.amin(over, keepdim=True) + numbers.amax(over, keepdim=True)) / 2).half()
                numbers -= offset.float()
                value += offset.numpy().tobytes()
            greatest = torch.maximum(numbers.amax(over, keepdim=True), -numbers.amin(over, keepdim=True))
            scale = (greatest / self._top).half().clamp_(min=_SMALLEST_SCALE)
            value += scale.numpy().tobytes()
            numbers = numbers.mul_(1 / scale.float()).round_().clamp_(-self._top, self._top)
            value += self._packed(numbers)
        return value

    def decode(self, value: bytearray, into: torch.Tensor) -> None:
        """See Codec."""
        reader = _Reader(value)
        for pages, over in zip(_pages(into), (self.over_k, self.over_v), strict=True):
            shared = [1 if axis in over else size for axis, size in enumerate(pages.shape)]
            offset = reader.take(shared, torch.float16).float() if self.centred else None
            scale = reader.take(shared, torch.float16).float()
            numbers = self._unpacked(reader, pages.shape).mul_(scale)
            pages.copy_(numbers if offset is None else numbers.add_(offset))

    @property
    def _top(self) -> int:
        return (1 << self.bits - 1) - 1

    @property
    def _below(self) -> int:
        return self.bits - _BYTE

    def _packed(self, numbers: torch.Tensor) -> bytes:
        if not self._below:
            return numbers.to(torch.int8).numpy().tobytes()
        whole = numbers.to(torch.int16).numpy()
        planes = [np.packbits((whole >> bit & 1).astype(np.uint8)) for bit in range(self._below)]
        return b"".join(each.tobytes() for each in ((whole >> self._below).astype(np.int8), *planes))

    def _unpacked(self, reader: "_Reader", shape: Sequence[int]) -> torch.Tensor:
        upper = reader.take(shape, torch.int8)
        if not self._below:
            return upper.float()
        whole = upper.to(torch.int16) << self._below
        for bit in range(self._below):
            plane = reader.take([upper.numel() // _BYTE], torch.uint8).numpy()
            whole |= torch.from_numpy(np.unpackbits(plane)).view(whole.shape).to(torch.int16) << bit
        return whole.float()


class Float8:
    """Rounding to e4m3 with one float16 scale per layer, K or V, and head."""

    name = "fp8 e4m3, scale per head"

    def encode(self, block: torch.Tensor) -> bytearray:
        """See Codec."""
        value = bytearray()
        for pages in _pages(block):
            numbers = pages.float()
            greatest = torch.maximum(numbers.amax(PAGE, keepdim=True), -numbers.amin(PAGE, keepdim=True))
            scale = (greatest / torch.finfo(torch.float8_e4m3fn).max).half().clamp_(min=_SMALLEST_SCALE)
            value += scale.numpy().tobytes()
            small = numbers.mul_(1 / scale.float()).to(torch.float8_e4m3fn)
            value += small.view(torch.uint8).numpy().tobytes()
        return value

    def decode(self, value: bytearray, into: torch.Tensor) -> None:
        """See Codec."""
        reader = _Reader(value)
        for pages in _pages(into):
            scale = reader.take([*pages.shape[:2], 1, 1, 1, 1], torch.float16).float()
            pages.copy_(reader.take(pages.shape, torch.float8_e4m3fn).float().mul_(scale))


class _Reader:
    """Cursor that takes tensors from the front of a value without a copy."""

    def __init__(self, value: bytearray) -> None:
        self._value = value
        self._at = 0

    def take(self, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        count = int(np.prod(shape))
        tensor = torch.frombuffer(self._value, dtype=dtype, count=count, offset=self._at)
        self._at += count * dtype.itemsize
        return tensor.view(*shape)


def _pages(block: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return K and V, each as a view [layer, head, panel, pair, in panel, in pair]."""
    layers, _, heads, slots, dim = block.shape
    return (
        block[:, 0].view(layers, heads, slots // PANEL, dim // 2, PANEL, 2),
        block[:, 1].view(layers, heads, dim // PANEL, slots // 2, PANEL, 2),
    )


CODECS: Final[tuple[Codec, ...]] = (
    Integers("int8, scale per token", K_TOKEN, V_TOKEN),
    Integers("int8, K per channel, V per token", K_CHANNEL, V_TOKEN),
    Integers("int8 with offset, K per channel, V per token", K_CHANNEL, V_TOKEN, centred=True),
    Float8(),
    Integers("9 bits with offset, K per channel, V per token", K_CHANNEL, V_TOKEN, bits=9, centred=True),
    Integers("10 bits with offset, K per channel, V per token", K_CHANNEL, V_TOKEN, bits=10, centred=True),
    HuffmanExponents(),
)
