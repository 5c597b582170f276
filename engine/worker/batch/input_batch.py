"""The worker's state of its requests, and the construction of a step's rows from it."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import torch

from engine.api.errors import EngineError
from engine.api.sampling_params import SamplingParams
from engine.attention.backend import AttentionMetadata
from engine.device.pinned_copy import upload
from engine.request.scheduler_output import AdapterUse, CachedRequestData, NewRequestData, SchedulerOutput
from engine.sampling.adjustments import Adjustments
from engine.sampling.masks import ends_of_phrases, words_from_bytes
from engine.sampling.sampler import SamplingRow
from engine.speculation.speculation import verify
from engine.worker.batch.embedding import HiddenSum
from models.interface.causal_lm import AdaptedRows

_PLACEHOLDER: Final = 0
"""Id of a virtual token, which every vocabulary has."""


@dataclass(slots=True, kw_only=True)
class RequestState:
    """The worker's state of one request.

    token_ids: known tokens, including the worker's own samples, which the scheduler may not have seen yet. If the last
        one is still being computed, ~i (negative) is its placeholder: sample i of pass number `expected_of`.
    hidden_sum: None unless the request asks for an embedding.
    adapter: None for the base model.
    """

    token_ids: list[int]
    prompt_len: int
    block_ids: list[int]
    num_computed_tokens: int
    sampling: SamplingParams
    adjustments: Adjustments | None
    hidden_sum: HiddenSum | None = None
    adapter: AdapterUse | None = None
    expected_of: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledRequest:
    """One request's part of a step.

    token_ids: tokens at positions context_len, context_len + 1, ... If the last one is ~i, it is the placeholder of
        sample i of the previous pass.
    block_ids: may be longer than the tokens require.
    sampling: one row per token that samples, which are the last ones: none, one, or n + 1 with a draft of n tokens.
    prompt_targets: prompt tokens whose log probabilities are requested. Target i follows token i of this part.
    num_prompt_logprobs: number of most likely tokens to report with each prompt target.
    hidden_sum: the sum to which the step adds hidden states; None unless the request asks for an embedding. Such a
        request never samples.
    adapter: None for the base model.
    """

    request_id: str
    token_ids: list[int]
    context_len: int
    block_ids: list[int]
    sampling: tuple[SamplingRow, ...] = ()
    prompt_targets: Sequence[int] = ()
    num_prompt_logprobs: int = 0
    hidden_sum: HiddenSum | None = None
    adapter: AdapterUse | None = None

    @property
    def adapted_rows(self) -> range:
        """Indices in `token_ids` of the tokens that the adapter changes: those of a prompt adapter are virtual."""
        count = len(self.token_ids)
        if self.adapter is None:
            return range(0)
        if self.adapter.num_virtual:
            return range(min(max(0, self.adapter.num_virtual - self.context_len), count))
        return range(min(max(0, self.adapter.first - self.context_len), count), count)

    @property
    def virtual_rows(self) -> range:
        """Indices in `token_ids` of the virtual tokens of a prompt adapter. Their ids are placeholders."""
        return self.adapted_rows if self.adapter is not None and self.adapter.num_virtual else range(0)

    @property
    def summed_rows(self) -> range:
        """Indices in `token_ids` of the tokens whose hidden states are added to the sum."""
        if self.hidden_sum is None:
            return range(0)
        return self.hidden_sum.rows(self.context_len, self.context_len + len(self.token_ids))

    @property
    def embedding(self) -> bytes | None:
        """The embedding, if this part is the last one of a request that asks for it. The rows must be added."""
        end = self.context_len + len(self.token_ids)
        return self.hidden_sum.embedding() if self.hidden_sum is not None and self.hidden_sum.is_complete(end) else None

    @property
    def sampling_from(self) -> int:
        """Index in `token_ids` of the first token that samples."""
        return len(self.token_ids) - len(self.sampling)

    @property
    def draft(self) -> list[int]:
        """Drafted tokens, which the model has not verified yet."""
        return self.token_ids[self.sampling_from + 1 :] if self.sampling else []


@dataclass(frozen=True, slots=True, kw_only=True)
class StepInput:
    """The T rows of all scheduled requests, in batch order.

    input_ids, positions: [T] int64. An id ~i is the placeholder of sample i of the previous pass.
    logits_rows: indices of the R rows that sample a token.
    sampling_rows: R entries, one per row of `logits_rows`.
    scored_rows: indices of the rows before `prompt_targets`.
    adapted: the rows of each adapter.
    """

    input_ids: torch.Tensor
    positions: torch.Tensor
    attention: AttentionMetadata
    logits_rows: tuple[int, ...]
    sampling_rows: tuple[SamplingRow, ...]
    scored_rows: tuple[int, ...]
    scheduled: Sequence[ScheduledRequest]
    adapted: Sequence[AdaptedRows] = ()


class ExpectedTokens:
    """Placeholders of a pass's samples, to be replaced once the pass has ended.

    number: number of the pass. num_samples: number of its samples.
    """

    def __init__(self, number: int, places: Sequence[tuple[ScheduledRequest, RequestState]]) -> None:
        """Note the placeholder of each request.

        places: in the order of the samples. The last token of each state is the placeholder of its first sample.
        """
        self.number = number
        self.num_samples = sum(len(request.sampling) for request, _ in places)
        self._places = [(request, state, len(state.token_ids) - 1) for request, state in places]

    def fill(self, tokens: Iterable[int]) -> dict[str, tuple[int, ...]]:
        """Replace the placeholders with the pass's accepted tokens, and return these by request id.

        May be called from any thread: no step is scheduled after a draft until its verification is known.
        """
        left, sampled = iter(tokens), dict[str, tuple[int, ...]]()
        for request, state, index in self._places:
            stand = verify(request.draft, list(itertools.islice(left, len(request.sampling))))
            # A later pass's placeholder may follow this one, though never after a draft.
            state.token_ids[index : index + 1] = sampled[request.request_id] = stand
        return sampled


class InputBatch:
    """Requests by id, owned by the model thread."""

    def __init__(self, block_size: int, vocab_size: int, device: torch.device) -> None:
        self._block_size = block_size
        self._vocab_size = vocab_size
        self._device = device
        self._requests: dict[str, RequestState] = {}
        self._passes = 0
        self._masks: Mapping[str, bytes] = {}
        self._drafts: Mapping[str, tuple[int, ...]] = {}

    def __len__(self) -> int:
        return len(self._requests)

    def update(self, step: SchedulerOutput) -> None:
        """Apply a step's changes: drop requests first, then add new ones, then update known ones."""
        for request_id in step.dropped_request_ids:
            self._requests.pop(request_id, None)
        for new in step.new_requests:
            self._add(new)
        for cached in step.cached_requests:
            self._advance(cached)
        self._masks, self._drafts = step.masks, step.drafts

    def add_drafts(self, drafts: Mapping[str, tuple[int, ...]]) -> None:
        """Add drafts to those of the step that was applied last."""
        self._drafts = {**self._drafts, **drafts}

    def newest_expected(self, request_ids: Iterable[str]) -> int:
        """Return the number of the last pass that sampled for any of these requests; 0 if there is none."""
        return max((self.state(request_id).expected_of for request_id in request_ids), default=0)

    def _add(self, new: NewRequestData) -> None:
        if new.request_id in self._requests:
            raise EngineError(f"request {new.request_id} is already in the batch")
        prompt_len, num_virtual = new.prompt_len, new.adapter.num_virtual if new.adapter is not None else 0
        text = new.token_ids[num_virtual:]
        tokens = [_PLACEHOLDER] * num_virtual + list(text)
        adjustments = Adjustments.of(new.sampling, text, prompt_len - num_virtual, self._vocab_size)
        pooling = new.sampling.pooling
        assert pooling != "auto", "the processor resolves it"
        hidden_sum = HiddenSum(pooling, prompt_len) if pooling is not None else None
        self._requests[new.request_id] = RequestState(
            token_ids=tokens,
            prompt_len=prompt_len,
            block_ids=list(new.block_ids),
            num_computed_tokens=new.num_computed_tokens,
            sampling=new.sampling,
            adjustments=adjustments,
            hidden_sum=hidden_sum,
            adapter=new.adapter,
        )

    def _advance(self, cached: CachedRequestData) -> None:
        state = self.state(cached.request_id)
        state.block_ids.extend(cached.new_block_ids)
        state.num_computed_tokens = cached.num_computed_tokens
        state.token_ids.extend(cached.new_token_ids)

    def state(self, request_id: str) -> RequestState:
        """Return the state of a request. Raise EngineError if it is unknown."""
        try:
            return self._requests[request_id]
        except KeyError:
            raise EngineError(f"request {request_id} is not in the batch") from None

    def select(self, num_scheduled_tokens: Mapping[str, int]) -> list[ScheduledRequest]:
        """Select each request's part of the step.

        Raise EngineError if a request has too few known tokens or blocks.
        """
        selected: list[ScheduledRequest] = []
        for request_id, count in num_scheduled_tokens.items():
            state, draft = self.state(request_id), self._drafts.get(request_id, ())
            start, end = state.num_computed_tokens, state.num_computed_tokens + count - len(draft)
            self._check(request_id, state, end, len(draft))
            rows: tuple[SamplingRow, ...] = ()
            if end == len(state.token_ids) and state.hidden_sum is None:
                rows = tuple([self._sampling_row(request_id, state, behind) for behind in range(len(draft) + 1)])
            token_ids = [*state.token_ids[start:end], *draft]
            request = ScheduledRequest(
                request_id=request_id,
                token_ids=token_ids,
                context_len=start,
                block_ids=state.block_ids,
                sampling=rows,
                hidden_sum=state.hidden_sum,
                adapter=state.adapter,
            )
            if state.sampling.prompt_logprobs is not None:
                targets = state.token_ids[start + 1 : min(end + 1, state.prompt_len)]
                wanted = state.sampling.prompt_logprobs
                request = replace(request, prompt_targets=targets, num_prompt_logprobs=wanted)
            selected.append(request)
        return selected

    def _sampling_row(self, request_id: str, state: RequestState, behind: int) -> SamplingRow:
        """Build the sampling row after the request's tokens and the first `behind` tokens of its draft."""
        tokens, params, mask = state.token_ids, state.sampling, self._masks.get(request_id)
        return SamplingRow(
            params,
            position=len(tokens) + behind,
            produced=len(tokens) + behind - state.prompt_len,
            mask=words_from_bytes(mask) if mask is not None else None,
            adjustments=state.adjustments,
            ends_of_phrases=ends_of_phrases(params.bad_word_ids, tokens) if params.has_bad_phrases else (),
        )

    def build(self, num_scheduled_tokens: Mapping[str, int]) -> StepInput:
        """Select the step as `select` does, and build the rows of one flat batch."""
        token_ids: list[int] = []
        spans: list[npt.NDArray[np.int64]] = []
        slots: list[npt.NDArray[np.int64]] = []
        logits_rows: list[int] = []
        sampling: list[SamplingRow] = []
        seq_lens: list[int] = []
        tables: list[list[int]] = []
        scored: list[int] = []
        scheduled = self.select(num_scheduled_tokens)
        for request in scheduled:
            first = len(token_ids)
            scored += range(first, first + len(request.prompt_targets))
            token_ids += request.token_ids
            logits_rows += range(first + request.sampling_from, len(token_ids))
            sampling += request.sampling
            end = request.context_len + len(request.token_ids)
            span = np.arange(request.context_len, end)
            spans.append(span)
            slots.append(self._slots(request.block_ids, span))
            seq_lens.append(end)
            tables.append(request.block_ids)
        rows = np.stack((np.array(token_ids, dtype=np.int64), np.concatenate(spans), np.concatenate(slots)))
        input_ids, positions, slot_mapping = upload(rows, self._device).unbind()
        return StepInput(
            input_ids=input_ids,
            positions=positions,
            attention=AttentionMetadata(
                query_lens=tuple(num_scheduled_tokens.values()),
                seq_lens=tuple(seq_lens),
                block_tables=tuple(tables),
                slot_mapping=slot_mapping,
            ),
            logits_rows=tuple(logits_rows),
            sampling_rows=tuple(sampling),
            scored_rows=tuple(scored),
            scheduled=scheduled,
            adapted=self._adapted(scheduled),
        )

    def _adapted(self, scheduled: Sequence[ScheduledRequest]) -> list[AdaptedRows]:
        """Group the rows that have adapters by adapter."""
        rows, first = dict[str, list[int]](), 0
        for request in scheduled:
            if request.adapter is not None and request.adapted_rows:
                rows.setdefault(request.adapter.digest, []).extend(first + row for row in request.adapted_rows)
            first += len(request.token_ids)
        return [
            AdaptedRows(digest, upload(np.array(indices, dtype=np.int64), self._device))
            for digest, indices in rows.items()
        ]

    def _check(self, request_id: str, state: RequestState, end: int, num_drafted: int) -> None:
        if not state.num_computed_tokens < end <= len(state.token_ids):
            raise EngineError(
                f"request {request_id}: tokens {state.num_computed_tokens} to {end} were scheduled, "
                f"but {len(state.token_ids)} are known"
            )
        if state.token_ids[end - 1] < 0 and state.expected_of != self._passes:
            raise EngineError(f"request {request_id}: token {end - 1} was scheduled before it was known")
        if num_drafted and end < len(state.token_ids):
            raise EngineError(f"request {request_id}: the scheduled draft does not follow its last token")
        if (last := end + num_drafted) > len(state.block_ids) * self._block_size:
            raise EngineError(f"request {request_id}: {len(state.block_ids)} blocks cannot hold {last} tokens")

    def _slots(self, block_ids: list[int], span: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        first, last = int(span[0]) // self._block_size, int(span[-1]) // self._block_size
        blocks = np.array(block_ids[first : last + 1], dtype=np.int64)
        return blocks[span // self._block_size - first] * self._block_size + span % self._block_size

    def expect(self, selected: Sequence[ScheduledRequest]) -> ExpectedTokens:
        """Append a placeholder for each request that samples in the pass that was just selected, in this order.

        The next pass can then be built before the samples are computed and before the scheduler has seen them, except
        after a draft.
        """
        self._passes += 1
        places: list[tuple[ScheduledRequest, RequestState]] = []
        num_samples = 0
        for request in selected:
            if request.sampling:
                state = self.state(request.request_id)
                state.num_computed_tokens = len(state.token_ids)
                state.token_ids.append(~num_samples)
                state.expected_of = self._passes
                num_samples += len(request.sampling)
                places.append((request, state))
        return ExpectedTokens(self._passes, places)
