"""Log probabilities that the device computes while the host prepares the next pass."""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from engine.device.pinned_copy import upload
from engine.sampling.logprobs import packed_logprobs, unpacked
from engine.worker.batch.forward_pass import NO_LOGPROBS, ScoredRows, StepLogprobs
from engine.worker.batch.input_batch import ScheduledRequest
from engine.worker.torch.device import Device


def start_logprobs(
    scheduled: Sequence[ScheduledRequest], sampled: torch.Tensor, logits: Sequence[torch.Tensor], device: Device
) -> Callable[[Sequence[int]], StepLogprobs]:
    """Queue the log probabilities of a pass, and their read.

    sampled: [R] int64, the sampled tokens, one per sampling row.
    logits: parts of the logits of the rows of `ScoredRows`, float32, unadjusted; none if no row wants any.

    Return a function that waits for them. The function receives the sampled tokens, which the host then knows.
    """
    if not logits:
        return lambda _: NO_LOGPROBS
    rows = ScoredRows.of(scheduled)
    read = device.start_read(packed_logprobs(torch.cat(list(logits)), _token_ids(rows, sampled), max(rows.tops)))
    return lambda tokens: rows.by_request(unpacked(read(), rows.token_ids(tokens), rows.tops))


def _token_ids(rows: ScoredRows, sampled: torch.Tensor) -> torch.Tensor:
    """Return the token of each of `rows`, on the device."""
    if len(rows.sampled) < len(sampled):
        sampled = sampled.index_select(0, upload(np.array(rows.sampled, dtype=np.int64), sampled.device))
    if not rows.targets:
        return sampled
    return torch.cat((sampled, upload(np.array(rows.targets, dtype=np.int64), sampled.device)))
