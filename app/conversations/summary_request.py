"""Requests for a summary of the beginning of a conversation."""

from dataclasses import replace

from app.conversations.fitting import Fitting
from app.conversations.turns import Turns
from app.domain.left_out import WHOLE, LeftOut, beginning_of, wanted_beginning
from app.domain.records import last_model
from app.host.backend import Backend
from app.host.engine_host import EngineHost
from app.prompts.thinking import preferred_mode
from app.prompts.turn_prompt import SUMMARY_TASK
from app.storage.store import Store
from engine.api.errors import ConflictError, InvalidRequestError
from engine.api.generate_request import GenerateRequest
from engine.api.sampling_params import SamplingParams

MAX_TOKENS = 512
"""Length of a summary."""

SAMPLING = SamplingParams(temperature=0.2, top_p=0.9, frequency_penalty=0.3, seed=0)
"""Sampling of summaries. The penalty keeps a small model from repeating a line, and the seed makes it repeatable."""

LEAST_SHARE = 8
"""A summary takes at most this part of the window, one eighth."""


async def summary_request(
    host: EngineHost, store: Store, turns: Turns, conversation_id: str, left_out: int
) -> tuple[Backend, GenerateRequest]:
    """Make the request for a summary of the first `left_out` messages of a conversation's current path.

    The model of the last answer writes the summary, and is returned with the request.

    The prompt continues the conversation, so its KV is found in the tiers. A summary of messages that are left out
    already is part of it. Messages at the beginning that do not fit into the window are not summarized.

    Raises:
        NotFoundError: there is no such conversation.
        InvalidRequestError: no question follows that many messages, or they are too long.
        ConflictError: the last of them is still being generated.
    """
    conversation = await store.conversations.get(conversation_id)
    path = await store.messages.path(conversation.head_id)
    engine = host.model_of(last_model(path))
    await host.prepared(engine)
    before = beginning_of(path)
    path = path[: wanted_beginning(path, left_out, None).left_out]
    if path[-1].status == "in_progress":
        raise ConflictError("This answer is still being generated", code="run_in_progress")
    max_tokens = min(MAX_TOKENS, engine.max_model_len // LEAST_SHARE)
    most = engine.max_model_len - max_tokens
    without = before if before.left_out < len(path) else WHOLE
    fitting = Fitting(turns, engine, conversation, path, SUMMARY_TASK, without)
    tokens = await fitting.tokens()
    if tokens is None or tokens > most:
        fewest = await fitting.fewest_left_out(most)
        if fewest is None or fewest == len(path):
            raise InvalidRequestError("The messages are too long to be summarized", param="left_out")
        without = LeftOut(fewest)
    thinking = preferred_mode(engine, "none")
    prompt = await turns.prompt_of(engine, conversation, path, SUMMARY_TASK, without, thinking=thinking)
    params = replace(SAMPLING, max_tokens=max_tokens)
    return engine, GenerateRequest(prompt_token_ids=prompt, params=params, keep_kv=False)
