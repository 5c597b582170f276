"""The tokens that requests have seen, on the device. A sampled token is counted there, before the host knows it.

On a GPU, penalties and the count are a launch each (`engine.sampling.triton_penalties`).
"""

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import torch

from engine.device.pinned_copy import upload
from engine.sampling.adjustments import SeenTokens
from engine.sampling.kernel_choice import has_kernels


class SeenTable:
    """A line for each request with penalties. A request copies its tokens there once, when it first samples.

    A line has the ids in use, and the number of occurrences in the answer of every id of the vocabulary. Ids may repeat
    with plain torch, but not with kernels. Past its end, a line repeats its first id. The host knows an upper bound of
    the number of ids in use. A line is free once its SeenTokens are gone.
    """

    def __init__(self, vocab_size: int, device: torch.device) -> None:
        self._vocab_size = vocab_size
        self.device = device
        self._ids = torch.zeros((0, 1), dtype=torch.int64, device=device)
        self._counts = torch.zeros((0, vocab_size), dtype=torch.int32, device=device)
        self._ends = torch.zeros(0, dtype=torch.int64, device=device)
        self._lengths: list[int] = []
        self._lines: WeakKeyDictionary[SeenTokens, int] = WeakKeyDictionary()

    def lines_of(self, requests: Sequence[SeenTokens]) -> list[int]:
        """Return the line of each request, and fill those of new ones. Every request has seen at least one token."""
        for seen in requests:
            if seen not in self._lines:
                free = set(range(len(self._lengths))) - set(self._lines.values())
                if not free:
                    free = {len(self._lengths)}
                    self._add_lines(max(len(self._lengths), 1))
                self._lines[seen] = min(free)
                self._fill(min(free), seen)
        return [self._lines[seen] for seen in requests]

    def penalize(
        self,
        logits: torch.Tensor,
        lines: Sequence[int],
        places: tuple[torch.Tensor, torch.Tensor],
        penalties: torch.Tensor,
    ) -> None:
        """Penalize the tokens of `lines` in `logits` [R, vocab] float32, each once.

        places: rows of the logits, and `lines` themselves, both [n] int64 on the device.
        penalties: [n, 3] float32, for repetition, frequency and presence.
        """
        rows, at = places
        longest = max(self._lengths[line] for line in lines)
        if has_kernels(logits):
            from engine.sampling import triton_penalties

            triton_penalties.penalize(logits, rows, at, penalties, (self._ids, self._counts, self._ends), longest)
            return
        ids = self._ids[:, :longest].index_select(0, at)
        times = self._counts.view(-1)[at[:, None] * self._vocab_size + ids]
        repetition, frequency, presence = penalties[:, :, None].unbind(1)
        # All logits are read before one is written, so a token that is listed twice gets the same logit twice.
        values = logits[rows[:, None], ids]
        values = torch.where(values > 0, values / repetition, values * repetition)
        logits[rows[:, None], ids] = values - frequency * times - presence * (times > 0)

    def count(self, lines: Sequence[int], places: tuple[torch.Tensor, torch.Tensor], chosen: torch.Tensor) -> None:
        """Count a sampled token of each of `lines`, which all differ.

        places: elements of `chosen` [R] int64, and `lines` themselves, both [n] int64 on the device.
        """
        for line in lines:
            self._lengths[line] += 1
        self._make_room(max(self._lengths[line] for line in lines))
        rows, at = places
        if has_kernels(chosen):
            from engine.sampling import triton_penalties

            triton_penalties.count(chosen, rows, at, (self._ids, self._counts, self._ends))
            return
        tokens = chosen.index_select(0, rows)
        ones = torch.ones_like(tokens, dtype=torch.int32)
        self._counts.view(-1).index_add_(0, at * self._vocab_size + tokens, ones)
        ends = self._ends.index_select(0, at)
        self._ids.view(-1).index_copy_(0, at * self._ids.shape[1] + ends, tokens)
        self._ends.index_copy_(0, at, ends + 1)

    def _fill(self, line: int, seen: SeenTokens) -> None:
        ids, counts = seen.known()
        self._make_room(len(ids))
        at = upload(ids.astype("int64"), self.device)
        self._ids[line] = at[0]
        self._ids[line, : len(ids)] = at
        self._counts[line] = 0
        self._counts[line].index_copy_(0, at, upload(counts.copy(), self.device))
        self._ends[line] = len(ids)
        self._lengths[line] = len(ids)

    def _add_lines(self, count: int) -> None:
        self._ids = torch.cat((self._ids, self._ids.new_zeros((count, self._ids.shape[1]))))
        self._counts = torch.cat((self._counts, self._counts.new_zeros((count, self._vocab_size))))
        self._ends = torch.cat((self._ends, self._ends.new_zeros(count)))
        self._lengths += [0] * count

    def _make_room(self, length: int) -> None:
        if length > self._ids.shape[1]:
            more = max(length, 2 * self._ids.shape[1]) - self._ids.shape[1]
            self._ids = torch.cat((self._ids, self._ids[:, :1].expand(-1, more)), dim=1)
