"""How likely the model itself finds tokens: the softmax of its logits, before a request's settings change them."""

from collections.abc import Sequence

import torch

from engine.outputs import TokenLogprobs


def token_logprobs(logits: torch.Tensor, token_ids: Sequence[int], tops: Sequence[int]) -> list[TokenLogprobs]:
    """logits [R, vocab] float32; a token for each row, and how many of the likeliest tokens to name beside it."""
    if not token_ids:
        return []
    total = logits.logsumexp(dim=-1, keepdim=True)
    ids = torch.tensor(token_ids, device=logits.device)[:, None]
    own = (logits.gather(1, ids) - total)[:, 0].tolist()
    values, places = logits.topk(max(tops), dim=-1)
    likeliest = zip(places.tolist(), (values - total).tolist(), strict=True)
    return [
        TokenLogprobs(token_id, logprob, tuple(zip(names[:count], logprobs[:count], strict=True)))
        for token_id, logprob, count, (names, logprobs) in zip(token_ids, own, tops, likeliest, strict=True)
    ]
