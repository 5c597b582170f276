"""A turn that could not be stored because its chat was deleted while the engine admitted it.

The KV of the chat may have been erased before the engine computed a part of the turn's prompt.
"""

from collections.abc import Callable, Sequence

from app.domain.answer_tokens import TokenNode
from app.domain.token_history import MessageTokens, pack_ids
from app.host.backend import GenerationStream

Erase = Callable[[Sequence[TokenNode], str], None]
"""`KVErasure.begin`."""


async def erase_turn(
    erase: Erase, stream: GenerationStream, prompt_ids: Sequence[int], tenant: str, model: str
) -> None:
    """Erase the KV of a turn whose request has been aborted, once it has ended.

    erase: keeps the KV of what stored chats share with the turn.
    model: name of the model that computed the turn.
    """
    produced = [id_ async for output in stream for id_ in output.token_ids]
    # A trail ends before its last token, whose KV is usually not computed.
    ids = [*prompt_ids, *(produced or prompt_ids[:1])]
    tokens = MessageTokens(pack_ids(ids), starts_prompt=True, model=model)
    erase([TokenNode("", None, "assistant", tokens)], tenant)
