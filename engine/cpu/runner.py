"""One step of the model in one native call."""

import time
import weakref
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import torch

from engine.cpu.library import StepInput
from engine.cpu.weights import PackedModel
from engine.sampling.sampler import Sampler
from engine.worker.input_batch import InputBatch, ScheduledRequest

PAGE_KEYS = 64
"""Slots of a page: kPageKeys in kernels/kv_pages.h. The only block size that the kernels serve."""

Ints = npt.NDArray[np.int32]


class NativeRunner:
    """What `engine.worker.model_runner.ModelRunner` is for the torch model; threads and memory stay between steps."""

    def __init__(self, model: PackedModel, kv_cache: torch.Tensor, *, threads: int) -> None:
        """kv_cache: bfloat16 [num_blocks, *BlockLayout.shape]; inside a page the kernels' own order holds."""
        self._model = model
        self._kv_cache = kv_cache
        self._sampler = Sampler()
        self._logits = torch.empty((0, model.vocab_size))
        self._handle = model.kernels.create(model.struct, threads)
        weakref.finalize(self, model.kernels.destroy, self._handle)

    def run(self, batch: InputBatch, num_scheduled_tokens: Mapping[str, int]) -> tuple[dict[str, int], float]:
        """See `ModelRunner.run`."""
        started = time.perf_counter()
        scheduled = batch.select(num_scheduled_tokens)
        sampling = [(request.request_id, request.sampling) for request in scheduled if request.sampling is not None]
        drawn = [i for i, (_, row) in enumerate(sampling) if not row.takes_arg_max]
        tokens, logits = self.compute(scheduled, drawn)
        if drawn:
            chosen = self._sampler.sample(logits, [sampling[i][1] for i in drawn])
            for i, token in zip(drawn, chosen, strict=True):
                tokens[i] = token
        sampled = dict(zip((request_id for request_id, _ in sampling), tokens, strict=True))
        batch.append(sampled.keys(), sampled.values())
        return sampled, time.perf_counter() - started

    def compute(self, scheduled: Sequence[ScheduledRequest], wanted: Sequence[int]) -> tuple[list[int], torch.Tensor]:
        """The native call. Returns the arg max of each sampling request, and the logits of those in `wanted`.

        wanted: ascending indices among the sampling requests. logits: [len(wanted), vocab] float32, valid until the
        next call.
        """
        query_lens = _int32(len(request.token_ids) for request in scheduled)
        ends = np.cumsum(query_lens, dtype=np.int32)
        sample_rows: Ints = ends[[request.sampling is not None for request in scheduled]] - 1
        samples = len(sample_rows)
        logits_index = np.full(samples, -1, dtype=np.int32)
        logits_index[list(wanted)] = np.arange(len(wanted))
        if len(self._logits) < len(wanted):
            # Kept, because fresh memory of this size costs a millisecond of page faults.
            self._logits = torch.empty((len(wanted), self._model.vocab_size))
        logits = self._logits[: len(wanted)]
        arg_max = np.empty(samples, dtype=np.int32)
        token_ids = _int32(token for request in scheduled for token in request.token_ids)
        context_lens = _int32(request.context_len for request in scheduled)
        tables = _block_tables(scheduled)
        self._model.kernels.step(
            self._handle,
            StepInput(
                sequences=len(scheduled),
                samples=samples,
                table_width=tables.shape[1],
                token_ids=token_ids.ctypes.data,
                query_lens=query_lens.ctypes.data,
                context_lens=context_lens.ctypes.data,
                block_tables=tables.ctypes.data,
                sample_rows=sample_rows.ctypes.data,
                logits_index=logits_index.ctypes.data,
                arg_max=arg_max.ctypes.data,
                logits=logits.data_ptr(),
                kv=self._kv_cache.data_ptr(),
                block_size=self._kv_cache.stride(0),
            ),
        )
        return arg_max.tolist(), logits


def _int32(values: Iterable[int]) -> Ints:
    return np.fromiter(values, dtype=np.int32)


def _block_tables(scheduled: Sequence[ScheduledRequest]) -> Ints:
    """[requests, blocks of the longest]; what a shorter one does not have is never read."""
    counts = [-(-(request.context_len + len(request.token_ids)) // PAGE_KEYS) for request in scheduled]
    tables = np.zeros((len(scheduled), max(counts)), dtype=np.int32)
    for line, (request, count) in enumerate(zip(scheduled, counts, strict=True)):
        tables[line, :count] = request.block_ids[:count]
    return tables
