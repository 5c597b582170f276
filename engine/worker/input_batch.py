"""What the worker remembers of its requests, and how one step's rows are made of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch

from engine.attention.backend import AttentionMetadata
from engine.errors import EngineError
from engine.sampling.adjustments import Adjustments
from engine.sampling.bad_phrases import ends_of_phrases
from engine.sampling.mask_words import words_from_bytes
from engine.sampling.sampler import SamplingRow
from engine.sampling_params import SamplingParams
from engine.scheduling.output import CachedRequestData, NewRequestData, SchedulerOutput


@dataclass(slots=True)
class RequestState:
    """token_ids also holds the worker's own samples, which the scheduler may not have seen yet.

    The last one may still be computed: then ~i (negative) stands for sample i of pass number `expected_of`.
    """

    token_ids: list[int]
    prompt_len: int
    block_ids: list[int]
    num_computed_tokens: int
    sampling: SamplingParams
    adjustments: Adjustments | None
    expected_of: int = 0


@dataclass(frozen=True, slots=True)
class ScheduledRequest:
    """One request's part of a step: these tokens at positions context_len, context_len + 1, ...

    ~i in place of the last token stands for sample i of the pass before. block_ids may be longer than they need.
    sampling: None unless the last token samples one. prompt_targets: the ids that follow its first tokens, and whose
    logprobs are wanted, with `num_prompt_logprobs` of the likeliest.
    """

    request_id: str
    token_ids: list[int]
    context_len: int
    block_ids: list[int]
    sampling: SamplingRow | None
    prompt_targets: Sequence[int] = ()
    num_prompt_logprobs: int = 0


@dataclass(frozen=True, slots=True)
class StepInput:
    """T rows of all scheduled requests in batch order; the last rows of `sampling_ids`' requests sample a token.

    input_ids, positions: [T] int64. logits_rows: [R] int64, indices into the T rows; sampling_ids and sampling_rows
    have R entries too. told_rows: int64, of the rows before `prompt_targets`.
    """

    input_ids: torch.Tensor
    positions: torch.Tensor
    attention: AttentionMetadata
    logits_rows: torch.Tensor
    sampling_ids: tuple[str, ...]
    sampling_rows: tuple[SamplingRow, ...]
    told_rows: torch.Tensor
    scheduled: Sequence[ScheduledRequest]


class ExpectedTokens:
    """The samples of a pass, and where they belong once they are there."""

    def __init__(self, states: Mapping[str, RequestState]) -> None:
        """states: in the order of the samples; the last token of each stands for its sample."""
        self._places = [(name, state, len(state.token_ids) - 1) for name, state in states.items()]

    def fill(self, tokens: Iterable[int]) -> dict[str, int]:
        """The pass has ended: put its tokens in place. By request id. May be called from any thread."""
        sampled: dict[str, int] = {}
        for (name, state, index), token in zip(self._places, tokens, strict=True):
            state.token_ids[index] = sampled[name] = token
        return sampled


class InputBatch:
    """Requests by id. Owned by the model thread."""

    def __init__(self, block_size: int, vocab_size: int, device: torch.device) -> None:
        self._block_size = block_size
        self._vocab_size = vocab_size
        self._device = device
        self._requests: dict[str, RequestState] = {}
        self._passes = 0
        self._masks: Mapping[str, bytes] = {}

    def __len__(self) -> int:
        return len(self._requests)

    def update(self, step: SchedulerOutput) -> None:
        """Apply a step's news: first what to forget, then new requests, then changes of known ones."""
        for request_id in step.dropped_request_ids:
            self._requests.pop(request_id, None)
        for new in step.new_requests:
            self._add(new)
        for cached in step.cached_requests:
            self._advance(cached)
        self._masks = step.masks

    def _add(self, new: NewRequestData) -> None:
        if new.request_id in self._requests:
            raise EngineError(f"request {new.request_id} is already in the batch")
        tokens, prompt_len = list(new.token_ids), new.prompt_len
        adjustments = Adjustments.of(new.sampling, tokens, prompt_len, self._vocab_size)
        self._requests[new.request_id] = RequestState(
            tokens, prompt_len, list(new.block_ids), new.num_computed_tokens, new.sampling, adjustments
        )

    def _advance(self, cached: CachedRequestData) -> None:
        state = self._state(cached.request_id)
        state.block_ids.extend(cached.new_block_ids)
        state.num_computed_tokens = cached.num_computed_tokens
        state.token_ids.extend(cached.new_token_ids)

    def _state(self, request_id: str) -> RequestState:
        try:
            return self._requests[request_id]
        except KeyError:
            raise EngineError(f"request {request_id} is not in the batch") from None

    def select(self, num_scheduled_tokens: Mapping[str, int]) -> list[ScheduledRequest]:
        """The step request by request; raises EngineError if one has too few known tokens or blocks for it."""
        selected: list[ScheduledRequest] = []
        for request_id, count in num_scheduled_tokens.items():
            state = self._state(request_id)
            start, end = state.num_computed_tokens, state.num_computed_tokens + count
            self._check(request_id, state, end)
            row = None
            if end == len(state.token_ids):
                row = self._sampling_row(request_id, state)
            request = ScheduledRequest(request_id, state.token_ids[start:end], start, state.block_ids, row)
            if state.sampling.prompt_logprobs is not None:
                targets = state.token_ids[start + 1 : min(end + 1, state.prompt_len)]
                told = state.sampling.prompt_logprobs
                request = replace(request, prompt_targets=targets, num_prompt_logprobs=told)
            selected.append(request)
        return selected

    def _sampling_row(self, request_id: str, state: RequestState) -> SamplingRow:
        tokens, params, mask = state.token_ids, state.sampling, self._masks.get(request_id)
        return SamplingRow(
            params,
            position=len(tokens),
            produced=len(tokens) - state.prompt_len,
            mask=words_from_bytes(mask) if mask is not None else None,
            adjustments=state.adjustments,
            ends_of_phrases=ends_of_phrases(params.bad_word_ids, tokens) if params.has_bad_phrases else (),
        )

    def build(self, num_scheduled_tokens: Mapping[str, int]) -> StepInput:
        """The same as rows of one flat batch."""
        token_ids: list[int] = []
        positions: list[npt.NDArray[np.int64]] = []
        slots: list[npt.NDArray[np.int64]] = []
        sampling: list[tuple[str, int, SamplingRow]] = []
        seq_lens: list[int] = []
        tables: list[list[int]] = []
        told: list[int] = []
        scheduled = self.select(num_scheduled_tokens)
        for request in scheduled:
            told += range(len(token_ids), len(token_ids) + len(request.prompt_targets))
            token_ids += request.token_ids
            end = request.context_len + len(request.token_ids)
            span = np.arange(request.context_len, end)
            positions.append(span)
            slots.append(self._slots(request.block_ids, span))
            seq_lens.append(end)
            tables.append(request.block_ids)
            if request.sampling is not None:
                sampling.append((request.request_id, len(token_ids) - 1, request.sampling))
        return StepInput(
            input_ids=torch.tensor(token_ids, device=self._device),
            positions=torch.from_numpy(np.concatenate(positions)).to(self._device),
            attention=AttentionMetadata(
                query_lens=tuple(num_scheduled_tokens.values()),
                seq_lens=tuple(seq_lens),
                block_tables=tuple(tables),
                slot_mapping=torch.from_numpy(np.concatenate(slots)).to(self._device),
            ),
            logits_rows=torch.tensor([row for _, row, _ in sampling], dtype=torch.int64, device=self._device),
            sampling_ids=tuple(request_id for request_id, _, _ in sampling),
            sampling_rows=tuple(row for _, _, row in sampling),
            told_rows=torch.tensor(told, dtype=torch.int64, device=self._device),
            scheduled=scheduled,
        )

    def _check(self, request_id: str, state: RequestState, end: int) -> None:
        if not state.num_computed_tokens < end <= len(state.token_ids):
            raise EngineError(
                f"request {request_id}: tokens {state.num_computed_tokens} to {end} were scheduled, "
                f"but {len(state.token_ids)} are known"
            )
        if state.token_ids[end - 1] < 0 and state.expected_of != self._passes:
            raise EngineError(f"request {request_id}: its token {end - 1} was scheduled before it is known")
        if end > len(state.block_ids) * self._block_size:
            raise EngineError(f"request {request_id}: {len(state.block_ids)} blocks do not hold {end} tokens")

    def _slots(self, block_ids: list[int], span: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        first, last = int(span[0]) // self._block_size, int(span[-1]) // self._block_size
        blocks = np.array(block_ids[first : last + 1], dtype=np.int64)
        return blocks[span // self._block_size - first] * self._block_size + span % self._block_size

    def expect(self, request_ids: Iterable[str]) -> ExpectedTokens:
        """These requests sample, in this order, in the pass that was just selected. The next one can be built on it
        before the samples are there, and before the scheduler has seen them."""
        self._passes += 1
        sampling: dict[str, RequestState] = {}
        for request_id in request_ids:
            state = self._state(request_id)
            state.num_computed_tokens = len(state.token_ids)
            state.token_ids.append(~len(sampling))
            state.expected_of = self._passes
            sampling[request_id] = state
        return ExpectedTokens(sampling)
