"""Log probabilities of the model itself: the log softmax of its logits, before sampling parameters change them."""

from collections.abc import Sequence
from typing import Final

import torch

from engine.outputs import TokenLogprobs

WIDEST_STRETCH: Final = 128
NARROWEST_STRETCH: Final = 16
AT_ONCE: Final = 1 << 20
"""Number of logits that the host handles at a time. More of them leave its caches, and take new pages at every call."""


def token_logprobs(logits: torch.Tensor, token_ids: Sequence[int], tops: Sequence[int]) -> list[TokenLogprobs]:
    """Return the log probability of one token per row, with that of the row's likeliest tokens.

    logits: [R, vocab] float32.
    token_ids: R ids.
    tops: R numbers of likeliest tokens to report.
    """
    at_once = max(AT_ONCE // logits.shape[1], 1) if logits.is_cpu else max(len(token_ids), 1)
    return [
        each
        for first in range(0, len(token_ids), at_once)
        for each in _of_chunk(
            logits[first : first + at_once], token_ids[first : first + at_once], tops[first : first + at_once]
        )
    ]


def _of_chunk(logits: torch.Tensor, token_ids: Sequence[int], tops: Sequence[int]) -> list[TokenLogprobs]:
    logprobs = logits.log_softmax(dim=-1)
    ids = torch.tensor(token_ids, device=logits.device)[:, None]
    own = logprobs.gather(1, ids)[:, 0].tolist()
    values, places = largest(logprobs, max(tops))
    likeliest = zip(places.tolist(), values.tolist(), strict=True)
    return [
        TokenLogprobs(token_id, logprob, tuple(zip(names[:count], likely[:count], strict=True)))
        for token_id, logprob, count, (names, likely) in zip(token_ids, own, tops, likeliest, strict=True)
    ]


def largest(values: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the `count` largest values of each row of `values` [R, n] and their indices, [R, count], largest first.

    At most `count` stretches of a row can hold one of its largest values, and those stretches have the largest maxima.
    Finding those stretches is therefore most of the work. `torch.topk` of a whole vocabulary takes far longer.
    """
    rows, n = values.shape
    width = min(n & -n, WIDEST_STRETCH)
    if width < NARROWEST_STRETCH or count * width >= n or not count:
        found = values.topk(count, dim=-1)
        return found.values, found.indices
    stretches = values.view(rows, n // width, width)
    best = stretches.amax(dim=-1).topk(count, dim=-1).indices
    candidates = stretches.gather(1, best[:, :, None].expand(-1, -1, width)).reshape(rows, count * width)
    found = candidates.topk(count, dim=-1)
    return found.values, best.gather(1, found.indices // width) * width + found.indices % width
