"""The settings of a batch's rows on the device. They are copied there when the batch changes, not at every step."""

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import torch

from engine.api.errors import EngineError
from engine.api.sampling_params import SamplingParams
from engine.device.pinned_copy import upload
from engine.sampling.adjustments import Adjustments, SeenTokens
from engine.sampling.candidates import Filters, draw_by_id
from engine.sampling.masks import Words
from engine.sampling.random_rows import RowNumbers
from engine.sampling.seen_table import SeenTable


class RequestMemory:
    """Memory of requests on the device, from step to step. A request's part is freed with its adjustments.

    seen: the tokens that penalties depend on.
    """

    def __init__(self, vocab_size: int, device: torch.device) -> None:
        self.vocab_size = vocab_size
        self.device = device
        self.seen = SeenTable(vocab_size, device)
        self._allowed: WeakKeyDictionary[Adjustments, torch.Tensor] = WeakKeyDictionary()

    def allowed(self, adjustment: Adjustments) -> torch.Tensor:
        """Return `adjustment.allowed`, which is not None, as words on the device, [W] int32."""
        if adjustment not in self._allowed:
            assert adjustment.allowed is not None
            self._allowed[adjustment] = upload(fitted(adjustment.allowed, self.vocab_size).view(np.int32), self.device)
        return self._allowed[adjustment]


class BatchSettings:
    """Settings of the rows of a batch, on the device of `memory`."""

    def __init__(
        self, params: Sequence[SamplingParams], adjustments: Sequence[Adjustments | None], memory: RequestMemory
    ) -> None:
        """Copy the settings to the device. Raise EngineError for a row that draws without a seed."""
        rows = [(i, adjustment) for i, adjustment in enumerate(adjustments) if adjustment is not None]
        self._biases = _Biases.of(rows, memory.device)
        self._penalties = _Penalties.of(rows, memory)
        masked = [(i, memory.allowed(adjustment)) for i, adjustment in rows if adjustment.allowed is not None]
        self._masked = _rows_at([i for i, _ in masked], memory.device) if masked else None
        self._allowed = torch.stack([words for _, words in masked]) if masked else None
        drawn = [i for i, each in enumerate(params) if each.temperature > 0]
        by_id = [i for i in drawn if not params[i].top_k and params[i].top_p >= 1]
        by_likelihood = sorted({*drawn} - {*by_id})
        self._has_greedy = len(drawn) < len(params)
        self._draws = [
            _Draws(kind, [params[i] for i in kind], len(kind) == len(params), memory.device)
            for kind in (by_id, by_likelihood)
            if kind
        ]

    def adjust(self, logits: torch.Tensor) -> None:
        """Apply biases, penalties and the allowed ids to `logits` [R, vocab]."""
        if self._biases is not None:
            logits[self._biases.lines, self._biases.ids] += self._biases.values
        if self._penalties is not None:
            self._penalties.apply(logits)
        if self._masked is not None and self._allowed is not None:
            keep_allowed(logits, self._masked, self._allowed)

    def choose(self, logits: torch.Tensor, positions: Sequence[int]) -> torch.Tensor:
        """Choose a token for each row, and count it where the row has penalties. Return [R] int64.

        Greedy rows take the lowest id on ties. `logits` are overwritten.
        """
        if self._draws and self._draws[0].is_all:
            chosen = self._draws[0].draw(logits, positions)
        else:
            chosen = logits.argmax(dim=-1) if self._has_greedy else logits.new_zeros(len(logits), dtype=torch.int64)
            for draws in self._draws:
                chosen.index_copy_(0, draws.at, draws.draw(logits.index_select(0, draws.at), positions))
        if self._penalties is not None:
            self._penalties.count(chosen)
        return chosen


class _Draws:
    """Rows that draw among their tokens in the same order.

    at: [n] int64, the rows.
    is_all: whether these are all rows of the batch.
    """

    def __init__(self, rows: list[int], params: list[SamplingParams], is_all: bool, device: torch.device) -> None:
        self.is_all = is_all
        self._rows = rows
        seeds = [each.seed for each in params if each.seed is not None]
        if len(seeds) < len(params):
            raise EngineError("a request reached the sampler without a seed")
        self._numbers = RowNumbers(seeds, [each.choice for each in params])
        self.at = _rows_at(rows, device)
        self._temperatures = upload(np.array([[each.temperature] for each in params], dtype=np.float32), device)
        is_filtered = params[0].top_k > 0 or params[0].top_p < 1
        self._filters = Filters.of(params, device) if is_filtered else None
        least = np.array([each.min_p for each in params], dtype=np.float32)
        self._min_p = upload(least, device) if least.any() else None

    def draw(self, logits: torch.Tensor, positions: Sequence[int]) -> torch.Tensor:
        """Draw a token for each row of `logits` [n, vocab], which are overwritten. `positions`: of all rows."""
        u = upload(self._numbers.at([positions[i] for i in self._rows]), logits.device)
        # Subtract the maximum first, so that a tiny temperature cannot overflow.
        logits -= logits.amax(dim=-1, keepdim=True)
        logits /= self._temperatures
        probs = torch.softmax(logits, dim=-1)
        return draw_by_id(probs, self._min_p, u) if self._filters is None else self._filters.draw(probs, u)


@dataclass(frozen=True, slots=True)
class _Biases:
    """Biases of the logits at (lines[i], ids[i])."""

    lines: torch.Tensor
    ids: torch.Tensor
    values: torch.Tensor

    @classmethod
    def of(cls, rows: Sequence[tuple[int, Adjustments]], device: torch.device) -> "_Biases | None":
        biased = [(i, adjustment) for i, adjustment in rows if len(adjustment.biases)]
        if not biased:
            return None
        lines = np.repeat([i for i, _ in biased], [len(adjustment.biases) for _, adjustment in biased])
        ids = np.concatenate([adjustment.bias_ids for _, adjustment in biased]).astype(np.int64)
        values = np.concatenate([adjustment.biases for _, adjustment in biased])
        return cls(upload(lines, device), upload(ids, device), upload(values, device))


class _Penalties:
    """Rows with penalties, and their lines in the table of seen tokens."""

    def __init__(self, rows: list[int], params: list[SamplingParams], seen: list[SeenTokens], table: SeenTable) -> None:
        self._table = table
        self._lines = table.lines_of(seen)
        self._places = _rows_at(rows, table.device), _rows_at(self._lines, table.device)
        wished = [(each.repetition_penalty, each.frequency_penalty, each.presence_penalty) for each in params]
        self._penalties = upload(np.array(wished, dtype=np.float32), table.device)

    @classmethod
    def of(cls, rows: Sequence[tuple[int, Adjustments]], memory: RequestMemory) -> "_Penalties | None":
        """Create the penalties of `rows`; None if no row has any."""
        penalized = [(i, adjustment.params, adjustment.seen) for i, adjustment in rows if adjustment.seen is not None]
        if not penalized:
            return None
        lines, params, seen = zip(*penalized, strict=True)
        return cls(list(lines), list(params), list(seen), memory.seen)

    def apply(self, logits: torch.Tensor) -> None:
        """Penalize the seen tokens."""
        self._table.penalize(logits, self._lines, self._places, self._penalties)

    def count(self, chosen: torch.Tensor) -> None:
        """Count the chosen tokens of these rows."""
        self._table.count(self._lines, self._places, chosen)


def keep_allowed(logits: torch.Tensor, rows: torch.Tensor, words: torch.Tensor) -> None:
    """Set the logits of ids without a bit in `words` [n, W] int32 to -inf, in `rows` [n] of `logits` [R, vocab]."""
    powers = torch.ones(32, dtype=torch.int32, device=words.device) << torch.arange(
        32, dtype=torch.int32, device=words.device
    )
    allowed = (words[:, :, None] & powers != 0).view(len(words), -1)[:, : logits.shape[-1]]
    logits.index_copy_(0, rows, logits.index_select(0, rows).masked_fill(~allowed, float("-inf")))


def fitted(words: Words, vocab_size: int) -> Words:
    """Return a copy of `words` with one word for each 32 ids of the vocabulary. Words that are missing count as 0."""
    all_words = np.zeros(-(-vocab_size // 32), dtype=np.uint32)
    some = words[: len(all_words)]
    all_words[: len(some)] = some
    return all_words


def _rows_at(rows: Sequence[int], device: torch.device) -> torch.Tensor:
    return upload(np.array(rows, dtype=np.int64), device)
