"""The compiled kernels as Python calls them. The structures mirror kernels/interface.h field by field."""

import ctypes
from typing import Protocol

from engine.cpu.build import KernelBuild
from engine.errors import EngineError

_INT = ctypes.c_int32
_POINTER = ctypes.c_void_p


class LayerWeights(ctypes.Structure):
    """Addresses of one layer's weights."""

    _fields_ = (
        ("attention_norm", _POINTER),
        ("qkv", _POINTER),
        ("qkv_bias", _POINTER),
        ("output", _POINTER),
        ("output_bias", _POINTER),
        ("mlp_norm", _POINTER),
        ("gate_up", _POINTER),
        ("down", _POINTER),
    )


class Model(ctypes.Structure):
    """The shape of a decoder, and the addresses of its weights."""

    _fields_ = (
        ("layers", _INT),
        ("hidden", _INT),
        ("intermediate", _INT),
        ("heads", _INT),
        ("kv_heads", _INT),
        ("head_dim", _INT),
        ("vocab", _INT),
        ("int8", _INT),
        ("norm_epsilon", ctypes.c_float),
        ("layer_weights", ctypes.POINTER(LayerWeights)),
        ("embedding", _POINTER),
        ("final_norm", _POINTER),
        ("head", _POINTER),
        ("cos", _POINTER),
        ("sin", _POINTER),
    )


class Adjustments(ctypes.Structure):
    """What is done to a row's logits before a token is chosen."""

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
    """How the next token of a row is chosen."""

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
    """A block to copy: addresses, and how long it took."""

    _fields_ = (("source", _POINTER), ("target", _POINTER), ("seconds", ctypes.c_double))


class StepInput(ctypes.Structure):
    """One step: counts, addresses of arrays (int32 unless kernels/interface.h says otherwise), and how it went."""

    _fields_ = (
        ("sequences", _INT),
        ("samples", _INT),
        ("table_width", _INT),
        ("token_ids", _POINTER),
        ("query_lens", _POINTER),
        ("context_lens", _POINTER),
        ("block_tables", _POINTER),
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
        ("done", _INT),
        ("started", ctypes.c_double),
        ("ended", ctypes.c_double),
        ("problem", ctypes.c_char_p),
    )


class Addressed(Protocol):
    """A torch tensor, as far as C needs it."""

    def data_ptr(self) -> int:
        """Where its memory starts."""


class Kernels:
    """The functions of one library. What takes long releases the interpreter's lock."""

    def __init__(self, build: KernelBuild) -> None:
        self.build = build
        library = ctypes.CDLL(str(build.path))
        self._pack = {"bfloat16": library.ebb_pack_rows, "int8": library.ebb_pack_rows_int8}
        for function in self._pack.values():
            function.argtypes = [_POINTER, _INT, _INT, _POINTER, _INT, _INT]
            function.restype = None
        self._create = library.ebb_create
        self._create.argtypes = [ctypes.POINTER(Model), _INT]
        self._create.restype = _POINTER
        self._destroy = library.ebb_destroy
        self._destroy.argtypes = [_POINTER]
        self._destroy.restype = None
        # Over in microseconds: to give the interpreter's lock away and to get it back would take longer.
        self._submit = ctypes.PyDLL(str(build.path)).ebb_submit
        self._submit.argtypes = [_POINTER, ctypes.POINTER(StepInput)]
        self._submit.restype = ctypes.c_char_p
        self._wait = library.ebb_wait
        self._wait.argtypes = [_POINTER, ctypes.POINTER(StepInput)]
        self._wait.restype = None

    def pack_rows(
        self, source: Addressed, rows: int, depth: int, packed: Addressed, *, weights: str, first_panel: int, step: int
    ) -> None:
        """source: row-major bfloat16 [rows, depth]; they go to panels first_panel, first_panel + step, ...

        weights: the format of the panels, "bfloat16" or "int8".
        """
        self._pack[weights](source.data_ptr(), rows, depth, packed.data_ptr(), first_panel, step)

    def create(self, model: Model, threads: int) -> int:
        """A handle to an engine with its own threads; raises EngineError if they cannot be started."""
        handle: int | None = self._create(ctypes.byref(model), threads)
        if handle is None:
            raise EngineError(f"the native engine cannot start {threads} threads")
        return handle

    def destroy(self, handle: int) -> None:
        """Compute what was submitted, end the engine's threads and free its scratch memory."""
        self._destroy(handle)

    def submit(self, handle: int, step: StepInput) -> None:
        """Queue a step; it and all that it points to must stay until `wait` returns. Raises EngineError."""
        problem: bytes | None = self._submit(handle, ctypes.byref(step))
        if problem is not None:
            raise EngineError(f"the native step was not taken: {problem.decode()}")

    def wait(self, handle: int, step: StepInput) -> None:
        """Until the step has ended; `step.problem` says whether it was computed. From one thread at a time."""
        self._wait(handle, ctypes.byref(step))
