"""Drafts by a draft model: a smaller model with the same vocabulary guesses tokens, and the large one verifies them."""

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from engine.request.scheduler_output import (
    CachedRequestData,
    DraftWork,
    ModelRunnerOutput,
    NewRequestData,
    SchedulerOutput,
)
from engine.worker.batch.input_batch import RequestState

MOST_READ: Final = 512
"""Tokens that the draft model reads in one step at most, so that no stream waits for it to read a long prompt."""


class Steps(Protocol):
    """The worker of the draft model."""

    def submit(self, step: SchedulerOutput) -> Callable[[], ModelRunnerOutput]:
        """See `Worker.submit`."""


@dataclass(slots=True)
class _Reading:
    """Tokens of one request whose KV the draft model's pool holds.

    num_read: leading tokens of the request among them.
    guessed: guesses after these, right or wrong, whose KV the pool also holds.
    names: names of the full blocks of `num_read`.
    """

    num_read: int = 0
    guessed: tuple[int, ...] = ()
    names: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Part:
    """One request's part of a draft.

    start, count: the tokens to read.
    most: tokens to guess after them; 0 if more is left to read.
    """

    request_id: str
    state: RequestState
    start: int
    count: int
    most: int

    @property
    def end(self) -> int:
        """Position after the tokens to read."""
        return self.start + self.count


class Drafter:
    """Maker of drafts by a draft model.

    The pools of both models have the same number of blocks, and a request has the same blocks in both. The draft model
    reads what its own pool lacks, for example after a tier has restored a prompt. Blocks of a prefix that was read for
    an earlier request are found by their names.

    Invariant: a block with a name holds the KV of the text that the name stands for.
    """

    def __init__(self, model: Steps, *, block_size: int, window: int, vocab_size: int) -> None:
        """Make a drafter. window: tokens that the draft model can read. vocab_size: ids that both models have."""
        self._model = model
        self._block_size = block_size
        self._window = window
        self._vocab_size = vocab_size
        self._readings: dict[str, _Reading] = {}
        self._names: dict[int, int] = {}
        self._in_model: tuple[str, ...] = ()
        self._step_ids = itertools.count()

    def forget(self, request_ids: Iterable[str]) -> None:
        """Forget requests that left the batch, and may come back with other blocks."""
        for request_id in request_ids:
            self._readings.pop(request_id, None)

    def draft(
        self, to_draft: Mapping[str, int], state_of: Callable[[str], RequestState]
    ) -> tuple[dict[str, tuple[int, ...]], DraftWork]:
        """Draft at most so many tokens for each request, all of whose tokens must be known.

        Return the drafts, and what they took. Errors of the draft model propagate.
        """
        began, room = time.perf_counter(), MOST_READ
        parts: list[_Part] = []
        for request_id, most in to_draft.items():
            part = self._part(request_id, state_of(request_id), most, room)
            if part.count > 0:
                parts.append(part)
                room -= part.count
        guessed = self._compute(parts)
        for part in parts:
            self._note(part, guessed.get(part.request_id, ()))
        drafts = {request_id: self._usable(tokens) for request_id, tokens in guessed.items()}
        work = DraftWork(
            num_drafted={request_id: len(drafts.get(request_id, ())) for request_id in to_draft},
            passes=max((max(1, part.most) for part in parts), default=0),
            rows=sum(part.count + max(0, part.most - 1) for part in parts),
            seconds=time.perf_counter() - began,
        )
        return drafts, work

    def _part(self, request_id: str, state: RequestState, most: int, room: int) -> _Part:
        """Return the part of a request that reads at most `room` tokens; none if the model cannot draft for it."""
        known, start = state.token_ids, self._num_read(request_id, state)
        count = min(len(known) - start, room)
        is_readable = all(0 <= token < self._vocab_size for token in known[start : start + count])
        if len(known) >= self._window or not is_readable:
            return _Part(request_id, state, start, 0, 0)
        is_complete = start + count == len(known)
        return _Part(request_id, state, start, count, min(most, self._window - len(known)) if is_complete else 0)

    def _num_read(self, request_id: str, state: RequestState) -> int:
        """Return how many leading tokens need not be read again. The last known token always is, to guess the next."""
        known, reading = state.token_ids, self._readings.get(request_id)
        if reading is None:
            reading = self._readings[request_id] = self._found(state)
        for token in reading.guessed:
            if reading.num_read >= len(known) or known[reading.num_read] != token:
                break
            reading.num_read += 1
        reading.guessed = ()
        return min(reading.num_read, len(known) - 1)

    def _found(self, state: RequestState) -> _Reading:
        """Find the leading blocks of a request that were read for an earlier one."""
        reading = _Reading()
        for block_id, name in zip(state.block_ids, self._names_of(state.token_ids, len(state.token_ids)), strict=False):
            if self._names.get(block_id) != name:
                break
            reading.names.append(name)
            reading.num_read += self._block_size
        return reading

    def _names_of(self, token_ids: Sequence[int], stop: int, before: Sequence[int] = ()) -> Iterator[int]:
        """Name the full blocks of the first `stop` tokens, without the blocks of which `before` has the names.

        A name stands for all tokens up to the end of its block. Different texts with equal names would cost wrong
        guesses, not wrong answers.
        """
        size, name = self._block_size, before[-1] if before else 0
        for index in range(len(before), stop // size):
            name = hash((name, *token_ids[index * size : (index + 1) * size]))
            yield name

    def _compute(self, parts: Sequence[_Part]) -> dict[str, tuple[int, ...]]:
        """Read the tokens of all parts, and guess. Return the guesses of those that guess."""
        guessed: dict[str, tuple[int, ...]] = {}
        for part in parts:
            for block_id in part.state.block_ids[part.start // self._block_size :]:
                self._names.pop(block_id, None)
        # A step reads the guesses of the one before it where they are computed.
        for collect in [self._model.submit(step) for step in self._steps(parts)]:
            for request_id, tokens in collect().sampled_token_ids.items():
                guessed[request_id] = guessed.get(request_id, ()) + tokens
        return guessed

    def _steps(self, parts: Sequence[_Part]) -> Iterator[SchedulerOutput]:
        """Make the steps of the draft model: one reads and guesses first tokens, the others guess one more per pass."""
        if not parts:
            return
        yield SchedulerOutput(
            step_id=next(self._step_ids),
            new_requests=tuple([_new_request(part) for part in parts]),
            num_scheduled_tokens={part.request_id: part.count for part in parts},
            dropped_request_ids=self._in_model,
        )
        self._in_model = tuple([part.request_id for part in parts])
        made = 1
        for length in sorted({part.most for part in parts if part.most > 1}):
            going = [part for part in parts if part.most >= length]
            yield SchedulerOutput(
                step_id=next(self._step_ids),
                cached_requests=tuple([CachedRequestData(each.request_id, (), each.end + made - 1) for each in going]),
                num_scheduled_tokens={each.request_id: 1 for each in going},
                passes=length - made,
            )
            made = length

    def _note(self, part: _Part, guessed: Sequence[int]) -> None:
        """Note what the pool holds of a request now. The last guess was not read."""
        reading, block_ids = self._readings[part.request_id], part.state.block_ids
        reading.num_read, reading.guessed = part.end, tuple(guessed[:-1])
        reading.names += self._names_of(part.state.token_ids, part.end, reading.names)
        for index in range(part.start // self._block_size, len(reading.names)):
            self._names[block_ids[index]] = reading.names[index]

    def _usable(self, guessed: Sequence[int]) -> tuple[int, ...]:
        """Return the guesses before the first one that the large model does not have."""
        return tuple(itertools.takewhile(lambda token: token < self._vocab_size, guessed))


def _new_request(part: _Part) -> NewRequestData:
    """Describe a request to the draft model, which has no adapters and reports no log probabilities."""
    state = part.state
    sampling = replace(state.sampling, prompt_logprobs=None)
    return NewRequestData(
        part.request_id, tuple(state.token_ids), state.prompt_len, tuple(state.block_ids), part.start, sampling
    )
