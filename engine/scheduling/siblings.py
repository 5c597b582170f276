"""Siblings: requests for several answers to one prompt. The first one to have its turn computes the prompt for all.

Siblings share the prompt's full blocks, whether or not they can be found by key. The partly filled last block is copied
before a sibling writes to it, unless it is the only one left that has the block. The last token of the prompt is not
shared. Each sibling computes that row itself, for the logits of its first token, so a worker sees an ordinary request
whose prefix was cached. Siblings share only confirmed blocks, so a failed step cannot corrupt another answer.
"""

from engine.block_tables.block_manager import BlockManager
from engine.request.request import Request, RequestStatus


def source_of(request: Request, block_size: int) -> Request | None:
    """Return a sibling that has the prompt; None if there is none, or the table of `request` already covers it."""
    return next((other for other in _others(request, block_size) if other.has_prompt), None)


def leader_of(request: Request, block_size: int) -> Request | None:
    """Return a sibling that computes or loads the prompt; None as in `source_of`."""
    at_work = (RequestStatus.RUNNING, RequestStatus.LOADING)
    return next((other for other in _others(request, block_size) if other.status in at_work), None)


def heir_of(request: Request) -> Request | None:
    """Return the waiting sibling that takes over the prompt of `request`, which is finishing.

    Return None if `request` does not have the prompt, another sibling has it too, or none waits without blocks.
    """
    if not request.has_prompt or any(other.has_prompt for other in request.siblings if other is not request):
        return None
    waiting = (RequestStatus.WAITING, RequestStatus.PREEMPTED)
    return next((other for other in request.siblings if other.status in waiting and not other.blocks), None)


def take_prompt(request: Request, source: Request, blocks: BlockManager) -> None:
    """Append the prompt's blocks of `source` to the table of `request`, after the blocks that it already has."""
    blocks.share(request, source, request.num_shared_tokens)
    request.restore_to(request.num_shared_tokens)
    request.prompt_logprobs = list(source.prompt_logprobs)


def _others(request: Request, block_size: int) -> list[Request]:
    if len(request.blocks) * block_size >= request.num_shared_tokens:
        return []
    return [other for other in request.siblings if other is not request]
