"""Finish condition of a request, checked after each token."""

from engine.api.outputs import FinishReason
from engine.request.request import Request


def reason_to_end(request: Request, token_id: int) -> FinishReason | None:
    """Return why `request` finishes with `token_id`, its newest output token; None if it continues.

    Stop strings are matched on text, in the output processor.
    """
    sampling, produced = request.sampling, len(request.output_token_ids)
    if token_id in sampling.ending_ids and produced > sampling.min_tokens:
        return "stop"
    if sampling.max_tokens is not None and produced >= sampling.max_tokens:
        return "length"
    if request.moves_at is not None and produced >= request.moves_at:
        return "moved"
    return None
