"""Token sequences of a whole conversation: every one that the engine computed, and where its answers ended."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain.token_history import ID_BYTES, MessageTokens


@dataclass(frozen=True, slots=True)
class TokenNode:
    """One list of tokens of a message, and its place in the tree. A message may have a list for each prompt key."""

    id: str
    parent_id: str | None
    role: str
    tokens: MessageTokens


@dataclass(frozen=True, slots=True)
class TokenTrail:
    """One token sequence.

    ids: packed.
    ends: for each answer, the number of tokens whose KV was computed when the answer ended.
    model: name of the model that computed it; None if unknown.
    """

    ids: bytes = b""
    ends: tuple[int, ...] = ()
    model: str | None = None

    def then(self, node: TokenNode) -> "TokenTrail":
        """Return this trail with the tokens of `node` added, or only those if `node` starts a prompt."""
        before = TokenTrail() if node.tokens.starts_prompt else self
        ids, model = before.ids + node.tokens.ids, node.tokens.model or before.model
        if node.role != "assistant" or not ids:
            return TokenTrail(ids, before.ends, model)
        # The KV of an answer's last token is never computed. Before an answer without tokens, all of the prompt may be.
        return TokenTrail(ids, (*before.ends, len(ids) // ID_BYTES - bool(node.tokens.ids)), model)


def trails_of(nodes: Sequence[TokenNode]) -> list[TokenTrail]:
    """Return the trails of all branches of one conversation, under each prompt key. None is a prefix of another."""
    own, below = _lists(nodes), _children(nodes)
    continued = _continued(own, below)
    trails: list[TokenTrail] = []
    todo = [(message_id, dict[str, TokenTrail]()) for message_id in below[None]]
    while todo:
        message_id, above = todo.pop()
        made = {key: above.get(key, TokenTrail()).then(node) for key, node in own[message_id].items()}
        trails += [trail for key, trail in made.items() if trail.ids and (message_id, key) not in continued]
        todo += [(child, above | made) for child in below[message_id]]
    return trails


def _lists(nodes: Sequence[TokenNode]) -> dict[str, dict[str, TokenNode]]:
    """Return the lists of tokens of each message by their prompt key."""
    own: dict[str, dict[str, TokenNode]] = {node.id: {} for node in nodes}
    for node in nodes:
        if node.tokens.prompt_key or node.tokens.ids:
            own[node.id][node.tokens.prompt_key] = node
    for node in nodes:
        # An answer without tokens ends each prompt of its question.
        if node.role == "assistant" and not own[node.id] and node.parent_id is not None:
            own[node.id] = dict.fromkeys(own.get(node.parent_id, ()), node)
    return own


def _children(nodes: Sequence[TokenNode]) -> defaultdict[str | None, list[str]]:
    """Return the ids of the messages below each one; below None, the first ones."""
    below: defaultdict[str | None, list[str]] = defaultdict(list)
    for message_id, parent_id in {node.id: node.parent_id for node in nodes}.items():
        below[parent_id].append(message_id)
    return below


def _continued(
    own: Mapping[str, Mapping[str, TokenNode]], below: Mapping[str | None, Sequence[str]]
) -> set[tuple[str, str]]:
    """Return the message and the prompt key of each list of tokens that one of a later message continues."""
    continued = set[tuple[str, str]]()
    todo = [(message_id, dict[str, str]()) for message_id in below.get(None, ())]
    while todo:
        message_id, above = todo.pop()
        continued |= {
            (above[key], key) for key, node in own[message_id].items() if not node.tokens.starts_prompt and key in above
        }
        here = above | dict.fromkeys(own[message_id], message_id)
        todo += [(child, here) for child in below.get(message_id, ())]
    return continued
