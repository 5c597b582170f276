"""Sampling of one token per row of logits, all rows at once. A row's token never depends on the rest of the batch."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from engine.errors import EngineError
from engine.sampling.adjustments import Adjustments
from engine.sampling.candidates import Filters
from engine.sampling.mask_words import Words
from engine.sampling.philox import uniforms
from engine.sampling.running_mass import RunningMass
from engine.sampling_params import SamplingParams


@dataclass(frozen=True, slots=True)
class SamplingRow:
    """Sampling of one row.

    position: index of the new token in the whole sequence.
    produced: tokens of the answer so far.
    mask: allowed ids; None for any.
    adjustments: changes to the logits; None for none.
    ends_of_phrases: ids that would complete a barred phrase.
    """

    params: SamplingParams
    position: int
    produced: int
    mask: Words | None = None
    adjustments: Adjustments | None = None
    ends_of_phrases: tuple[int, ...] = ()

    @property
    def num_logprobs(self) -> int | None:
        """Number of likeliest tokens to report with this one; None for no report."""
        return self.params.logprobs

    @property
    def barred_ids(self) -> tuple[int, ...]:
        """Ids that may not be sampled: ends of phrases and, before min_tokens, the ids that end the answer."""
        ends = self.params.ending_ids if self.produced < self.params.min_tokens else ()
        return ends + self.ends_of_phrases


class Sampler:
    """Stateless sampler. `SamplingParams` documents the order of changes, after which the inverse CDF picks a token."""

    def sample(self, logits: torch.Tensor, rows: Sequence[SamplingRow]) -> list[int]:
        """Sample one token id per row of `logits` [R, vocab] float32, which are overwritten.

        Greedy rows take the lowest id on ties. The tokens are added to those that the requests have seen. Raise
        EngineError for a row that draws without a seed.
        """
        _adjust(logits, rows)
        _bar(logits, rows)
        drawn = [i for i, row in enumerate(rows) if row.params.temperature > 0]
        chosen = [int(token) for token in logits.argmax(dim=-1).tolist()] if len(drawn) < len(rows) else [0] * len(rows)
        if drawn:
            params = [rows[i].params for i in drawn]
            probs = _probabilities(logits[drawn], [each.temperature for each in params])
            tokens = _draw(probs, params, [rows[i].position for i in drawn])
            for i, token in zip(drawn, tokens.tolist(), strict=True):
                chosen[i] = token
        for row, token in zip(rows, chosen, strict=True):
            if row.adjustments is not None and row.adjustments.seen is not None:
                row.adjustments.seen.add(token)
        return chosen


def _adjust(logits: torch.Tensor, rows: Sequence[SamplingRow]) -> None:
    """Apply biases and penalties. Only the few logits that change are gathered and written back."""
    adjusted = [(i, row.adjustments) for i, row in enumerate(rows) if row.adjustments is not None]
    if biased := [(i, how) for i, how in adjusted if len(how.biases)]:
        at = _places(logits, [i for i, _ in biased], [how.bias_ids for _, how in biased])
        logits[at] += _like(logits, np.concatenate([how.biases for _, how in biased]))
    if seen := [(i, how.params, how.seen) for i, how in adjusted if how.seen is not None]:
        ids, counts = zip(*(each.known() for _, _, each in seen), strict=True)
        at = _places(logits, [i for i, _, _ in seen], ids)
        wished = [(p.repetition_penalty, p.frequency_penalty, p.presence_penalty) for _, p, _ in seen]
        repeats = [len(each) for each in ids]
        repetition, frequency, presence = _like(logits, np.repeat(np.array(wished), repeats, axis=0).T)
        times = _like(logits, np.concatenate(counts))
        values = logits[at]
        values = torch.where(values > 0, values / repetition, values * repetition)
        logits[at] = values - frequency * times - presence * (times > 0)


def _bar(logits: torch.Tensor, rows: Sequence[SamplingRow]) -> None:
    """Set the logits of barred tokens to -inf."""
    masks = [(i, row.mask) for i, row in enumerate(rows) if row.mask is not None]
    masks += [(i, how.allowed) for i, row in enumerate(rows) if (how := row.adjustments) and how.allowed is not None]
    if masks:
        words = np.zeros((len(rows), -(-logits.shape[-1] // 32)), dtype=np.uint32)
        words[[i for i, _ in masks]] = 0xFFFFFFFF
        for i, mask in masks:
            words[i, : len(mask)] &= mask[: words.shape[1]]
            words[i, len(mask) :] = 0
        at = sorted({i for i, _ in masks})
        logits[at] = logits[at].masked_fill(~_allowed(words[at], logits), float("-inf"))
    if own := [(i, row.barred_ids) for i, row in enumerate(rows) if row.barred_ids]:
        ids = [np.array(each, dtype=np.int64) for _, each in own]
        logits[_places(logits, [i for i, _ in own], ids)] = float("-inf")


def _allowed(words: npt.NDArray[np.uint32], logits: torch.Tensor) -> torch.Tensor:
    """Unpack words [n, W] on the device of `logits` [R, vocab], to one bool per id, [n, vocab]."""
    powers = torch.from_numpy((np.uint32(1) << np.arange(32, dtype=np.uint32)).view(np.int32)).to(logits.device)
    bits = torch.from_numpy(words.view(np.int32)).to(logits.device)[:, :, None] & powers
    return (bits != 0).view(len(words), -1)[:, : logits.shape[-1]]


def _places(
    logits: torch.Tensor, rows: Sequence[int], ids: Sequence[npt.NDArray[np.integer]]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return an index of the logits of ids[k] in row rows[k], for all k."""
    lines = torch.from_numpy(np.repeat(np.array(rows, dtype=np.int64), [len(each) for each in ids]))
    columns = torch.from_numpy(np.concatenate(ids).astype(np.int64))
    return lines.to(logits.device), columns.to(logits.device)


def _like(logits: torch.Tensor, values: npt.NDArray[np.generic]) -> torch.Tensor:
    return torch.from_numpy(values.astype(np.float32)).to(logits.device)


def _probabilities(logits: torch.Tensor, temperatures: list[float]) -> torch.Tensor:
    """Return the probabilities [n, vocab]; `logits` are overwritten.

    The maximum is subtracted first, so that a tiny temperature cannot overflow.
    """
    logits -= logits.amax(dim=-1, keepdim=True)
    logits /= torch.tensor(temperatures, dtype=logits.dtype, device=logits.device)[:, None]
    return torch.softmax(logits, dim=-1)


def _draw(probs: torch.Tensor, params: Sequence[SamplingParams], positions: Sequence[int]) -> npt.NDArray[np.int64]:
    """Draw a token for each row of `probs` [n, vocab]. No copy to the host has the size of the vocabulary."""
    seeds = [each.seed for each in params if each.seed is not None]
    if len(seeds) < len(params):
        raise EngineError("a request reached the sampler without a seed")
    u = uniforms(seeds, [each.choice for each in params], positions)
    top_k = np.array([each.top_k for each in params])
    top_p = np.array([each.top_p for each in params])
    min_p = np.array([each.min_p for each in params])
    filtered = (top_k > 0) | (top_p < 1)
    tokens = np.zeros(len(params), dtype=np.int64)
    if filtered.any():
        filters = Filters(top_k[filtered], top_p[filtered], min_p[filtered])
        tokens[filtered] = filters.draw(_rows(probs, filtered), u[filtered])
    if not filtered.all():
        masses, least = _rows(probs, ~filtered), min_p[~filtered, None]
        if least.any():
            masses = masses * (masses >= _like(masses, least) * masses.amax(dim=1, keepdim=True))
        running = RunningMass(masses)
        tokens[~filtered] = running.place(u[~filtered] * running.total)
    return tokens


def _rows(probs: torch.Tensor, wanted: npt.NDArray[np.bool_]) -> torch.Tensor:
    return probs if wanted.all() else probs[np.flatnonzero(wanted).tolist()]
