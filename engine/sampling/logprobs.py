"""Log probabilities of the model itself: the log softmax of its logits, before sampling parameters change them."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import torch

from engine.api.outputs import TokenLogprobs
from engine.device.pinned_copy import upload

WIDEST_STRETCH: Final = 128
NARROWEST_STRETCH: Final = 16
AT_ONCE: Final = 1 << 26
"""Number of logits that a device handles at a time, 256 MiB."""
AT_ONCE_ON_CPU: Final = 1 << 20
"""The same on a CPU. More of them leave its caches, and take new pages at every call."""


def token_logprobs(logits: torch.Tensor, token_ids: Sequence[int], tops: Sequence[int]) -> list[TokenLogprobs]:
    """Return the log probability of one token per row, with that of the row's likeliest tokens.

    logits: [R, vocab] float32.
    token_ids: R ids.
    tops: R numbers of likeliest tokens to report.
    """
    if not token_ids:
        return []
    ids = upload(np.array(token_ids, dtype=np.int64), logits.device)
    return unpacked(packed_logprobs(logits, ids, max(tops)).cpu(), token_ids, tops)


def packed_logprobs(logits: torch.Tensor, ids: torch.Tensor, most: int) -> torch.Tensor:
    """Compute the log probabilities of `ids` [R] int64 and of the `most` likeliest tokens, for one read by the host.

    logits: [R, vocab] float32.

    Return [R, 1 + 2 * most] int32: the bits of the log probability, of those of the likeliest tokens, and their ids.
    """
    at_once = max((AT_ONCE_ON_CPU if logits.is_cpu else AT_ONCE) // logits.shape[1], 1)
    chunks = zip(logits.split(at_once), ids.split(at_once), strict=True)
    return torch.cat([_of_chunk(some, own, most) for some, own in chunks])


def _of_chunk(logits: torch.Tensor, ids: torch.Tensor, most: int) -> torch.Tensor:
    logprobs = logits.log_softmax(dim=-1)
    values, places = largest(logprobs, most)
    own = logprobs.gather(1, ids[:, None])
    return torch.cat((own.view(torch.int32), values.view(torch.int32), places.int()), dim=1)


def unpacked(packed: torch.Tensor, token_ids: Sequence[int], tops: Sequence[int]) -> list[TokenLogprobs]:
    """Return the log probabilities in the result of `packed_logprobs`, copied to the host, of `token_ids`.

    tops: R numbers of likeliest tokens to report.
    """
    most = packed.shape[1] // 2
    floats = packed.view(torch.float32)
    own, values, places = floats[:, 0].tolist(), floats[:, 1 : 1 + most].tolist(), packed[:, 1 + most :].tolist()
    return [
        TokenLogprobs(token_id, logprob, tuple(zip(names[:count], likely[:count], strict=True)))
        for token_id, logprob, count, names, likely in zip(token_ids, own, tops, places, values, strict=True)
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
