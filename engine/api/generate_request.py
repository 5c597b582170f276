"""A request to generate, as every layer above the scheduler passes it on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.api.promise import PromiseRequest
from engine.api.sampling_params import SamplingParams
from engine.api.urgency import NORMAL, Urgency


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateRequest:
    """A prompt, and how it is to be continued.

    request_id: prefix of the id that the engine assigns; None for a generated one.
    tenant: owner of the KV that the request reads and writes.
    adapter: name of the adapter that computes the prompt and the answer; empty for the base model.
    produced: the beginning of the answer, if another process generated it. The stream yields only what follows.
    keep_kv: whether other requests may find the KV that this one computes. If False, the request reuses cached KV
        without changing it.
    is_stored: whether the request belongs to a stored conversation, which is likely to continue. The tiers below CPU
        memory receive the KV of such a request at once, and of others once another request finds it, or once the engine
        is idle, apart from what the client marked.
    on_place: called when the request gets its place in the batch. The callback must not raise, and hardly block.
    num_answers: number of answers to the prompt, which is computed once.
    num_marked: number of the prompt's first tokens that the client marked for caching. With a prompt that is marked
        whole, the answer counts as marked too, since the next prompt continues it.
    promise: KV that is to be kept on the disk; None for none. With several answers, the first one has the report.
    progress_every: report the progress of the prompt, after this many seconds and then at most once in as many. 0 is
        for a report after each step, None for none. With several answers, the first one has the reports.
    hands_over: end with "moved" after the first new token, so that another engine continues the answer.
    """

    prompt_token_ids: Sequence[int]
    params: SamplingParams
    request_id: str | None = None
    tenant: str = "local"
    adapter: str = ""
    urgency: Urgency = NORMAL
    produced: Sequence[int] = ()
    keep_kv: bool = True
    is_stored: bool = True
    on_place: Callable[[], None] | None = None
    num_answers: int = 1
    num_marked: int = 0
    promise: PromiseRequest | None = None
    hands_over: bool = False
    progress_every: float | None = None
