"""ctypes bindings of the compiled kernels. The structures mirror kernels/interface.h field by field."""

import ctypes
from types import MappingProxyType
from typing import Final, Protocol

from engine.api.errors import EngineError
from engine.cpu.build import KernelBuild

_INT = ctypes.c_int32
_POINTER = ctypes.c_void_p

WEIGHT_FORMATS: Final = ("bfloat16", "int8", "int4", "IQ4_NL", "Q4_1", "Q5_1", "Q4_K", "Q5_K", "Q6_K", "int8_bytes")
"""Names of the formats of a matrix, in the order of WeightFormat in kernels/interface.h.

"int8_bytes" has the weights of "int8". Its activations are rounded to bytes where the kernels multiply bytes.
"""

BFLOAT16_FORMATS: Final = WEIGHT_FORMATS[:3]
"""Formats into which the bfloat16 weights of a network can be packed."""

HEAD_FORMATS: Final = MappingProxyType({"bfloat16": "bfloat16", "int8": "int8", "int4": "int8_bytes"})
"""Format of the head for each format of a network. Its errors reach the logits directly, so it is never int4."""

BLOCK_FORMATS: Final = MappingProxyType(
    {
        "Q8_0": "int8",
        "Q4_0": "int4",
        "IQ4_NL": "IQ4_NL",
        "Q4_1": "Q4_1",
        "Q5_0": "Q5_1",
        "Q5_1": "Q5_1",
        "Q4_K": "Q4_K",
        "Q5_K": "Q5_K",
        "Q6_K": "Q6_K",
    }
)
"""Format for each type of blocks of a GGUF file, in the order of BlockType in kernels/interface.h."""


class Part(ctypes.Structure):
    """Consecutive panels of a matrix in one format, an index of WEIGHT_FORMATS."""

    _fields_ = (("data", _POINTER), ("end", _INT), ("format", _INT))


class Matrix(ctypes.Structure):
    """A matrix in panels. Each part begins where the part before it ends."""

    _fields_ = (("parts", ctypes.POINTER(Part)), ("num_parts", _INT))


class Product(ctypes.Structure):
    """One multiplication outside of a step: addresses of left operand, matrix, bias and result, and its sizes."""

    _fields_ = (
        ("left", _POINTER),
        ("right", Matrix),
        ("bias", _POINTER),
        ("out", _POINTER),
        ("rows", _INT),
        ("depth", _INT),
        ("columns", _INT),
    )


GATES: Final = ("silu", "gelu_tanh")
"""Names of the activations of the MLP's gate, in the order of Gate in kernels/interface.h."""


class LayerWeights(ctypes.Structure):
    """Addresses of one layer's weights."""

    _fields_ = (
        ("attention_norm", _POINTER),
        ("qkv", Matrix),
        ("qkv_bias", _POINTER),
        ("q_norm", _POINTER),
        ("k_norm", _POINTER),
        ("cos", _POINTER),
        ("sin", _POINTER),
        ("window", _INT),
        ("output", Matrix),
        ("output_bias", _POINTER),
        ("attended_norm", _POINTER),
        ("mlp_norm", _POINTER),
        ("gate_up", Matrix),
        ("down", Matrix),
        ("down_norm", _POINTER),
    )


class Model(ctypes.Structure):
    """Shape of a decoder and addresses of its weights."""

    _fields_ = (
        ("layers", _INT),
        ("hidden", _INT),
        ("intermediate", _INT),
        ("heads", _INT),
        ("kv_heads", _INT),
        ("head_dim", _INT),
        ("vocab", _INT),
        ("gate", _INT),
        ("norm_epsilon", ctypes.c_float),
        ("attention_scale", ctypes.c_float),
        ("attention_softcap", ctypes.c_float),
        ("embedding_scale", ctypes.c_float),
        ("residual_scale", ctypes.c_float),
        ("logits_scale", ctypes.c_float),
        ("logits_softcap", ctypes.c_float),
        ("query_factors", _POINTER),
        ("layer_weights", ctypes.POINTER(LayerWeights)),
        ("embedding", Matrix),
        ("final_norm", _POINTER),
        ("head", Matrix),
    )


class LowRank(ctypes.Structure):
    """The change of a projection by an adapter: addresses of both matrices in panels of bfloat16."""

    _fields_ = (("a", _POINTER), ("b", _POINTER), ("rank", _INT), ("factor", ctypes.c_float))


class AdapterLayer(ctypes.Structure):
    """The changes of one layer."""

    _fields_ = tuple((name, LowRank) for name in ("q", "k", "v", "output", "gate", "up", "down"))


class Adapter(ctypes.Structure):
    """An adapter: the changes of each layer, and the largest rank."""

    _fields_ = (("layers", ctypes.POINTER(AdapterLayer)), ("rank", _INT))


class GivenRow(ctypes.Structure):
    """A row that is given in place of a token: addresses of its embedding, and of its K and V or null."""

    _fields_ = (("embedding", _POINTER), ("kv", _POINTER))


class Adjustments(ctypes.Structure):
    """Adjustments of a row's logits before sampling."""

    _fields_ = (
        ("repetition", ctypes.c_float),
        ("presence", ctypes.c_float),
        ("frequency", ctypes.c_float),
        ("num_biases", _INT),
        ("bias_ids", _POINTER),
        ("biases", _POINTER),
        ("allowed", _POINTER),
        ("seen_ids", _POINTER),
        ("seen_counts", _POINTER),
        ("num_seen", _POINTER),
        ("room_for_seen", _INT),
    )


class RowSampling(ctypes.Structure):
    """Sampling parameters of a row."""

    _fields_ = (
        ("seed", ctypes.c_uint64),
        ("temperature", ctypes.c_float),
        ("top_p", ctypes.c_float),
        ("min_p", ctypes.c_float),
        ("top_k", _INT),
        ("position", ctypes.c_uint32),
        ("choice", ctypes.c_uint32),
        ("num_barred", _INT),
        ("first_barred", _INT),
        ("mask", _POINTER),
        ("adjustments", _POINTER),
    )


class Move(ctypes.Structure):
    """A block to copy: source and target address, and the measured duration in seconds."""

    _fields_ = (("source", _POINTER), ("target", _POINTER), ("seconds", ctypes.c_double))


class HiddenSum(ctypes.Structure):
    """Address of a float64 sum [hidden], and the rows [first, end) of a step whose hidden states are added to it."""

    _fields_ = (("total", _POINTER), ("first", _INT), ("end", _INT))


class StepInput(ctypes.Structure):
    """Input and outcome of one step: counts, addresses of arrays, times and an error message.

    Arrays are int32 unless kernels/interface.h says otherwise.
    """

    _fields_ = (
        ("sequences", _INT),
        ("samples", _INT),
        ("table_width", _INT),
        ("token_ids", _POINTER),
        ("hidden_in", _POINTER),
        ("hidden_out", _POINTER),
        ("query_lens", _POINTER),
        ("context_lens", _POINTER),
        ("block_tables", _POINTER),
        ("adapters", _POINTER),
        ("adapted_from", _POINTER),
        ("given", _POINTER),
        ("sample_rows", _POINTER),
        ("sampling", _POINTER),
        ("barred", _POINTER),
        ("chosen", _POINTER),
        ("logits_index", _POINTER),
        ("logits", _POINTER),
        ("kv", _POINTER),
        ("block_size", ctypes.c_uint64),
        ("moves", _POINTER),
        ("copies", _INT),
        ("loads", _INT),
        ("stores", _INT),
        ("num_sums", _INT),
        ("sums", _POINTER),
        ("done", _INT),
        ("started", ctypes.c_double),
        ("ended", ctypes.c_double),
        ("problem", ctypes.c_char_p),
    )


class Addressed(Protocol):
    """The part of a torch tensor's interface that C needs."""

    def data_ptr(self) -> int:
        """Return the address of the first element."""


class Kernels:
    """Functions of one library. Long calls release the GIL."""

    def __init__(self, build: KernelBuild) -> None:
        self.build = build
        library = ctypes.CDLL(str(build.path))
        self._pack = {
            "bfloat16": library.ebb_pack_rows,
            "int8": library.ebb_pack_rows_int8,
            "int4": library.ebb_pack_rows_int4,
            "int8_bytes": library.ebb_pack_rows_int8_bytes,
        }
        for function in self._pack.values():
            function.argtypes = [_POINTER, _INT, _INT, _POINTER, _INT, _INT]
            function.restype = None
        self._pack_blocks = library.ebb_pack_blocks
        self._pack_blocks.argtypes = [_INT, _POINTER, _INT, _INT, _POINTER, _INT, _INT]
        self._pack_blocks.restype = None
        self._panel_bytes = library.ebb_panel_bytes
        self._panel_bytes.argtypes = [_INT, _INT]
        self._panel_bytes.restype = ctypes.c_uint64
        self._create_multiplier = library.ebb_create_multiplier
        self._create_multiplier.argtypes = [_INT]
        self._create_multiplier.restype = _POINTER
        self._destroy_multiplier = library.ebb_destroy_multiplier
        self._destroy_multiplier.argtypes = [_POINTER]
        self._destroy_multiplier.restype = None
        self._multiply = library.ebb_multiply
        self._multiply.argtypes = [_POINTER, ctypes.POINTER(Product)]
        self._multiply.restype = ctypes.c_char_p
        self._create = library.ebb_create
        self._create.argtypes = [ctypes.POINTER(Model), _INT, _INT, _INT]
        self._create.restype = _POINTER
        self._destroy = library.ebb_destroy
        self._destroy.argtypes = [_POINTER]
        self._destroy.restype = None
        # PyDLL keeps the GIL: a submit takes microseconds, less than releasing and reacquiring the lock.
        self._submit = ctypes.PyDLL(str(build.path)).ebb_submit
        self._submit.argtypes = [_POINTER, ctypes.POINTER(StepInput)]
        self._submit.restype = ctypes.c_char_p
        self._wait = library.ebb_wait
        self._wait.argtypes = [_POINTER, ctypes.POINTER(StepInput)]
        self._wait.restype = None

    def pack_rows(
        self, source: Addressed, rows: int, depth: int, packed: Addressed, *, weights: str, first_panel: int, step: int
    ) -> None:
        """Pack rows into panels first_panel, first_panel + step, ...

        source: row-major bfloat16 [rows, depth].
        weights: format of the panels, one of BFLOAT16_FORMATS or HEAD_FORMATS.
        """
        self._pack[weights](source.data_ptr(), rows, depth, packed.data_ptr(), first_panel, step)

    def pack_blocks(
        self, source: Addressed, rows: int, depth: int, packed: Addressed, *, type_: str, first_panel: int, step: int
    ) -> None:
        """Pack rows into panels of the format BLOCK_FORMATS[type_], like `pack_rows`.

        source: blocks of a GGUF file.
        """
        number = list(BLOCK_FORMATS).index(type_)
        self._pack_blocks(number, source.data_ptr(), rows, depth, packed.data_ptr(), first_panel, step)

    def panel_bytes(self, weights: str, depth: int) -> int:
        """Return the size of a panel in bytes. weights: one of WEIGHT_FORMATS."""
        size: int = self._panel_bytes(WEIGHT_FORMATS.index(weights), depth)
        return size

    def create_multiplier(self, threads: int) -> int:
        """Create threads for multiplications outside of a step and return their handle.

        Raise EngineError if the threads cannot be started.
        """
        handle: int | None = self._create_multiplier(threads)
        if handle is None:
            raise EngineError(f"the kernels cannot start {threads} threads")
        return handle

    def destroy_multiplier(self, handle: int) -> None:
        """End the threads of `create_multiplier`."""
        self._destroy_multiplier(handle)

    def multiply(self, handle: int, product: Product) -> None:
        """Compute a product. Call from one thread at a time. Raise EngineError without memory for it."""
        problem: bytes | None = self._multiply(handle, ctypes.byref(product))
        if problem is not None:
            raise EngineError(f"the kernels cannot multiply: {problem.decode()}")

    def create(self, model: Model, threads: int, *, turn: int = -1, place: int = -1) -> int:
        """Create a native engine with its own threads and return its handle.

        turn, place: descriptors of the files by whose locks engines take turns (kernels/turns.h), which stay open until
            `destroy` returns; -1 for an engine that has the cores alone.

        Raise EngineError if the threads cannot be started.
        """
        handle: int | None = self._create(ctypes.byref(model), threads, turn, place)
        if handle is None:
            raise EngineError(f"the native engine cannot start {threads} threads")
        return handle

    def destroy(self, handle: int) -> None:
        """Compute the submitted steps, then end the engine's threads and free its scratch memory."""
        self._destroy(handle)

    def submit(self, handle: int, step: StepInput) -> None:
        """Queue a step. Raise EngineError if the native engine rejects it.

        `step` and all memory that it points to must stay alive until `wait` returns.
        """
        problem: bytes | None = self._submit(handle, ctypes.byref(step))
        if problem is not None:
            raise EngineError(f"the native engine refused the step: {problem.decode()}")

    def wait(self, handle: int, step: StepInput) -> None:
        """Wait until the step has ended. Call from one thread at a time.

        `step.problem` is then None, or the reason why the step was not computed.
        """
        self._wait(handle, ctypes.byref(step))
