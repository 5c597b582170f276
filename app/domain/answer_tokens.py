"""Token sequences of a whole conversation: every one that the engine computed, and where its answers ended."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from app.domain.token_history import ID_BYTES, MessageTokens


@dataclass(frozen=True, slots=True)
class TokenNode:
    """Tokens of one message, and its place in the tree."""

    id: str
    parent_id: str | None
    role: str
    tokens: MessageTokens


@dataclass(frozen=True, slots=True)
class TokenTrail:
    """One token sequence.

    ids: packed.
    ends: for each answer, the number of tokens whose KV was computed when the answer ended.
    """

    ids: bytes = b""
    ends: tuple[int, ...] = ()

    def then(self, node: TokenNode) -> "TokenTrail":
        """Return this trail with the tokens of `node` added, or only those if `node` starts a prompt."""
        before = TokenTrail() if node.tokens.starts_prompt else self
        ids = before.ids + node.tokens.ids
        if node.role != "assistant" or not ids:
            return TokenTrail(ids, before.ends)
        # The KV of an answer's last token is never computed. Before an answer without tokens, all of the prompt may be.
        return TokenTrail(ids, (*before.ends, len(ids) // ID_BYTES - bool(node.tokens.ids)))


def trails_of(nodes: Iterable[TokenNode]) -> list[TokenTrail]:
    """Return the trails of all branches of one conversation. None is a prefix of another."""
    below: defaultdict[str | None, list[TokenNode]] = defaultdict(list)
    for node in nodes:
        below[node.parent_id].append(node)
    trails: list[TokenTrail] = []
    todo: list[tuple[str | None, TokenTrail]] = [(None, TokenTrail())]
    while todo:
        message_id, trail = todo.pop()
        if trail.ids and all(node.tokens.starts_prompt for node in below[message_id]):
            trails.append(trail)
        todo += [(node.id, trail.then(node)) for node in below[message_id]]
    return trails
