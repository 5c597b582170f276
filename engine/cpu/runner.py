"""One step of the model in one native call."""

import time
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import torch

from engine.cpu.library import RowSampling, StepInput
from engine.cpu.weights import PackedModel
from engine.errors import EngineError
from engine.sampling.sampler import SamplingRow
from engine.worker.input_batch import InputBatch, ScheduledRequest

PAGE_KEYS = 64
"""Slots of a page: kPageKeys in kernels/kv_pages.h. The only block size that the kernels serve."""

Ints = npt.NDArray[np.int32]

_ROW_SAMPLING: Final = np.dtype(RowSampling)
_SEED_MASK: Final = (1 << 64) - 1


class NativeRunner:
    """What `engine.worker.model_runner.ModelRunner` is for the torch model; threads and memory stay between steps."""

    def __init__(self, model: PackedModel, kv_cache: torch.Tensor, *, threads: int) -> None:
        """kv_cache: bfloat16 [num_blocks, *BlockLayout.shape]; inside a page the kernels' own order holds."""
        self._model = model
        self._kv_cache = kv_cache
        self._handle = model.kernels.create(model.struct, threads)
        weakref.finalize(self, model.kernels.destroy, self._handle)

    def run(self, batch: InputBatch, num_scheduled_tokens: Mapping[str, int]) -> tuple[dict[str, int], float]:
        """See `ModelRunner.run`."""
        started = time.perf_counter()
        scheduled = batch.select(num_scheduled_tokens)
        tokens, _ = self.compute(scheduled)
        sampling_ids = (request.request_id for request in scheduled if request.sampling is not None)
        sampled = dict(zip(sampling_ids, tokens, strict=True))
        batch.append(sampled.keys(), sampled.values())
        return sampled, time.perf_counter() - started

    def compute(
        self, scheduled: Sequence[ScheduledRequest], wanted: Sequence[int] = ()
    ) -> tuple[list[int], torch.Tensor]:
        """The native call. Returns the token of each sampling request, and the logits of those in `wanted`.

        wanted: ascending indices among the sampling requests. logits: [len(wanted), vocab] float32, -inf where a token
        may not be chosen.
        """
        query_lens = _int32(len(request.token_ids) for request in scheduled)
        rows = [request.sampling for request in scheduled if request.sampling is not None]
        ends = np.cumsum(query_lens, dtype=np.int32)
        sample_rows: Ints = ends[[request.sampling is not None for request in scheduled]] - 1
        sampling, barred = _row_sampling(rows)
        logits_index = np.full(len(rows), -1, dtype=np.int32)
        logits_index[list(wanted)] = np.arange(len(wanted))
        logits = torch.empty((len(wanted), self._model.vocab_size))
        chosen = np.empty(len(rows), dtype=np.int32)
        token_ids = _int32(token for request in scheduled for token in request.token_ids)
        context_lens = _int32(request.context_len for request in scheduled)
        tables = _block_tables(scheduled)
        self._model.kernels.step(
            self._handle,
            StepInput(
                sequences=len(scheduled),
                samples=len(rows),
                table_width=tables.shape[1],
                token_ids=token_ids.ctypes.data,
                query_lens=query_lens.ctypes.data,
                context_lens=context_lens.ctypes.data,
                block_tables=tables.ctypes.data,
                sample_rows=sample_rows.ctypes.data,
                sampling=sampling.ctypes.data,
                barred=barred.ctypes.data,
                chosen=chosen.ctypes.data,
                logits_index=logits_index.ctypes.data,
                logits=logits.data_ptr(),
                kv=self._kv_cache.data_ptr(),
                block_size=self._kv_cache.stride(0),
            ),
        )
        return chosen.tolist(), logits


def _row_sampling(rows: Sequence[SamplingRow]) -> tuple[npt.NDArray[np.void], Ints]:
    """(RowSampling of each row, the barred ids of all); raises EngineError for a row that draws without a seed."""
    barred: list[int] = []
    sampling = np.zeros(len(rows), dtype=_ROW_SAMPLING)
    for i, row in enumerate(rows):
        if row.takes_arg_max:
            continue
        params = row.params
        if params.temperature > 0 and params.seed is None:
            raise EngineError("a request reached the sampler without a seed")
        own = params.stop_token_ids if row.masks_stop_tokens else ()
        seed = (params.seed or 0) & _SEED_MASK
        sampling[i] = (seed, params.temperature, params.top_p, params.top_k, row.position, len(own), len(barred))
        barred += own
    return sampling, _int32(barred)


def _int32(values: Iterable[int]) -> Ints:
    return np.fromiter(values, dtype=np.int32)


def _block_tables(scheduled: Sequence[ScheduledRequest]) -> Ints:
    """[requests, blocks of the longest]; what a shorter one does not have is never read."""
    counts = [-(-(request.context_len + len(request.token_ids)) // PAGE_KEYS) for request in scheduled]
    tables = np.zeros((len(scheduled), max(counts)), dtype=np.int32)
    for line, (request, count) in enumerate(zip(scheduled, counts, strict=True)):
        tables[line, :count] = request.block_ids[:count]
    return tables
