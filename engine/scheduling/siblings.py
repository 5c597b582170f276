"""Several answers to one prompt: whichever request has its turn first computes the prompt, the others go on from there.

They share its full blocks, found by key or not. The block that the prompt fills only partly is copied before its new
owner writes in it, unless nobody else has it any more. What is shared is the prompt without its last token: each
answer computes that row itself, for the logits that its first token is drawn from, so that to a worker it is a request
like any other whose prefix was found. Only what results have told of is shared: if a step fails, nobody stands on it.
"""

from engine.kv.block_manager import BlockManager
from engine.request import Request, RequestStatus


def source_of(request: Request, block_size: int) -> Request | None:
    """The sibling that has the prompt, if `request` has less of it in its table."""
    return next((other for other in _others(request, block_size) if other.has_prompt), None)


def leader_of(request: Request, block_size: int) -> Request | None:
    """The sibling that computes the prompt, or brings it from the tiers, if `request` has less of it in its table."""
    at_work = (RequestStatus.RUNNING, RequestStatus.LOADING)
    return next((other for other in _others(request, block_size) if other.status in at_work), None)


def heir_of(request: Request) -> Request | None:
    """The sibling that takes the prompt over from `request`, which has it and ends; None if others have it too, or
    nobody waits for it."""
    if not request.has_prompt or any(other.has_prompt for other in request.siblings if other is not request):
        return None
    waiting = (RequestStatus.WAITING, RequestStatus.PREEMPTED)
    return next((other for other in request.siblings if other.status in waiting and not other.blocks), None)


def take_prompt(request: Request, source: Request, blocks: BlockManager) -> None:
    """Go on from the blocks of `source`, behind those that are in its table already."""
    blocks.share(request, source, request.num_shared_tokens)
    request.num_computed_tokens = request.num_confirmed_tokens = request.num_shared_tokens
    request.prompt_logprobs = list(source.prompt_logprobs)


def _others(request: Request, block_size: int) -> list[Request]:
    if len(request.blocks) * block_size >= request.num_shared_tokens:
        return []
    return [other for other in request.siblings if other is not request]
