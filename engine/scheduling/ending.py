"""Whether a token is a request's last."""

from engine.outputs import FinishReason
from engine.request import Request


def reason_to_end(request: Request, token_id: int) -> FinishReason | None:
    """Why `token_id`, the newest of its output, ends it; None if it goes on. Stop strings are not seen here."""
    sampling, produced = request.sampling, len(request.output_token_ids)
    if token_id in sampling.ending_ids and produced > sampling.min_tokens:
        return "stop"
    if sampling.max_tokens is not None and produced >= sampling.max_tokens:
        return "length"
    return None
