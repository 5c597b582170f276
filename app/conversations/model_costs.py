"""Tokens that a model would compute to continue a conversation."""

from dataclasses import dataclass

from app.conversations.turns import Turns
from app.domain.left_out import beginning_of
from app.domain.token_history import joined_ids, num_known
from app.host.backend import Backend
from app.storage.store import Store
from engine.api.errors import PromptTooLongError
from engine.kv.block import common_prefix_len


@dataclass(frozen=True, slots=True)
class TurnCost:
    """The tokens of the conversation in a model's next prompt, and how many of them the model would compute."""

    tokens: int
    computed: int


async def turn_cost(engine: Backend, turns: Turns, store: Store, conversation_id: str) -> TurnCost | None:
    """Return what the next turn of a conversation would cost with a model, apart from the question.

    The KV of a model that is not in memory counts as kept: the tiers that have it are looked at when it is loaded.

    Returns None if the prompt is too long for the model. Raise NotFoundError, and NotReadyError before its first load.
    """
    conversation = await store.conversations.get(conversation_id)
    path = await store.messages.path(conversation.head_id)
    beginning = beginning_of(path)
    try:
        prompt = await turns.prompt_of(engine, conversation, path, "", beginning)
    except PromptTooLongError:
        return None
    path = path[beginning.left_out :]
    key = await turns.key_of(engine, conversation, beginning)
    known = joined_ids(path[: num_known(path, key)], key) or []
    # The KV of an answer's last token is never computed.
    prefix = prompt[: common_prefix_len(prompt, known[:-1])]
    if engine.is_resident and prefix:
        [place] = await engine.prefixes.places([prefix], tenant=store.tenant)
        prefix = prefix if place is not None else []
    return TurnCost(len(prompt), len(prompt) - len(prefix))
